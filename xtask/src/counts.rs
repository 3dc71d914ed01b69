//! Adds up what passed and what failed.

use std::ops::AddAssign;

/// How many single tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
}

impl Counts {
    /// One check that is a test by itself.
    pub fn one(passed: bool) -> Self {
        Self {
            passed: passed.into(),
            failed: (!passed).into(),
            ignored: 0,
        }
    }

    /// Sums the `test result:` lines of everything that `cargo test` ran.
    pub fn of_libtest(output: &str) -> Self {
        let mut sum = Self::default();
        for line in output.lines() {
            let Some(result) = line.trim_start().strip_prefix("test result:") else {
                continue;
            };
            // "ok. 3 passed; 0 failed; ..."
            let words: Vec<&str> = result.split_whitespace().collect();
            for pair in words.windows(2) {
                let Ok(number) = pair[0].parse::<u64>() else {
                    continue;
                };
                match pair[1].trim_end_matches(';') {
                    "passed" => sum.passed += number,
                    "failed" => sum.failed += number,
                    "ignored" => sum.ignored += number,
                    _ => {}
                }
            }
        }
        sum
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_several_binaries_are_added() {
        let output = "
running 3 tests
test a ... ok
test result: FAILED. 2 passed; 1 failed; 4 ignored; 0 measured; 7 filtered out; finished in 0.00s

   Doc-tests x
test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let expected = Counts {
            passed: 7,
            failed: 1,
            ignored: 4,
        };
        assert_eq!(Counts::of_libtest(output), expected);
        assert_eq!(Counts::of_libtest("error: could not compile"), Counts::default());
    }
}
