//! The operating system's error numbers in the core's words.

use highwater_core::error::DiskError;
use rustix::io::Errno;

/// What an error means for the directory it happened in.
pub fn disk_error(error: &std::io::Error) -> DiskError {
    from_errno(Errno::from_io_error(error).unwrap_or(Errno::IO))
}

pub(super) fn from_errno(errno: Errno) -> DiskError {
    match errno {
        Errno::NOSPC | Errno::DQUOT => DiskError::Full,
        Errno::ROFS => DiskError::ReadOnly,
        Errno::NOENT => DiskError::NotFound,
        other => DiskError::Io(other.raw_os_error()),
    }
}
