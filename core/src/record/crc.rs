//! CRC-32C (Castagnoli), the checksum of a batch: a processor's own instruction natively, one small
//! table in the browser, where eight of them would be as much to load as a scene.

/// CRC-32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_append(0, bytes)
}

/// Goes on with `crc`, the checksum of what came before, over `bytes`.
#[cfg(not(target_arch = "wasm32"))]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    ::crc32c::crc32c_append(crc, bytes)
}

/// Goes on with `crc`, the checksum of what came before, over `bytes`.
#[cfg(target_arch = "wasm32")]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    const ALGORITHM: crc::Algorithm<u32> = crc::CRC_32_ISCSI;
    static CASTAGNOLI: crc::Crc<u32, crc::Table<1>> = crc::Crc::<u32, crc::Table<1>>::new(&ALGORITHM);
    // The register as it was: before the last exclusive or, and not reflected.
    let mut digest = CASTAGNOLI.digest_with_initial((crc ^ ALGORITHM.xorout).reverse_bits());
    digest.update(bytes);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_check_value() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c_append(crc32c(b"1234"), b"56789"), 0xe306_9283);
    }
}
