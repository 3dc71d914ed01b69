//! Java's `SplittableRandom`, so that the same seed gives the records that Kafka's tool makes.

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Debug)]
pub struct SplittableRandom(u64);

impl SplittableRandom {
    pub fn new(seed: i64) -> Self {
        Self(seed as u64)
    }

    fn next_int(&mut self) -> i32 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        let z = (self.0 ^ (self.0 >> 33)).wrapping_mul(0x62a9_d9ed_7997_05f5);
        ((z ^ (z >> 28)).wrapping_mul(0xcb24_d0a5_c88c_35b3) >> 32) as i32
    }

    /// From 0 up to, but without, the bound, which is at least 1.
    pub fn below(&mut self, bound: i32) -> i32 {
        let mask = bound - 1;
        let drawn = self.next_int();
        if bound & mask == 0 {
            return drawn & mask;
        }
        // A draw from the last, incomplete stretch would make small numbers likelier.
        let mut positive = (drawn as u32 >> 1) as i32;
        loop {
            let rest = positive % bound;
            if positive.wrapping_add(mask).wrapping_sub(rest) >= 0 {
                return rest;
            }
            positive = (self.next_int() as u32 >> 1) as i32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Java 17 draws.
    #[test]
    fn the_numbers_are_javas() {
        let mut random = SplittableRandom::new(0);
        let drawn: Vec<i32> = (0..12).map(|_| random.below(26)).collect();
        assert_eq!(drawn, [24, 16, 7, 7, 13, 4, 1, 18, 4, 15, 3, 13]);
        let mut random = SplittableRandom::new(-7);
        let drawn: Vec<i32> = (0..3)
            .flat_map(|_| [random.below(1 << 30), random.below(1_500_000_000)])
            .collect();
        let expected = [
            404_430_970,
            647_047_872,
            65_113_019,
            1_062_177_434,
            402_989_339,
            786_516_816,
        ];
        assert_eq!(drawn, expected);
    }
}
