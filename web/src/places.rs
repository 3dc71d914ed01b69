//! Where things are drawn: to one scale, wide enough to be touched, running like words from line to line.

/// Where a batch is drawn, in pixels: a segment's bytes run like words, from line to line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u32,
    pub x: u32,
    pub width: u32,
}

/// Least width of what can be touched.
pub const LEAST_PX: u32 = 26;
const GAP_PX: u64 = 2;

/// One scale for all segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Of a line, in px.
    pub width: u32,
    /// Of the smallest batch, in px and bytes.
    pub least_px: u32,
    pub least_bytes: u64,
    /// What a line would hold if only the width counted.
    pub most_bytes: u64,
}

impl Scale {
    /// Thousandths of a pixel for each byte.
    fn per_byte(self) -> u64 {
        let fit = u64::from(self.width) * 1000 / self.most_bytes.max(1);
        let touch = u64::from(self.least_px) * 1000 / self.least_bytes.max(1);
        fit.max(touch)
    }

    /// Width of so many bytes, if they fit into one line.
    pub fn in_one_line(self, bytes: u64) -> Option<u32> {
        let px = bytes * self.per_byte() / 1000;
        u32::try_from(px).ok().filter(|px| *px <= self.width)
    }
}

/// Places pieces of these sizes to scale, from line to line.
pub fn places(sizes: &[u64], scale: Scale) -> Vec<Place> {
    let width = u64::from(scale.width.max(scale.least_px));
    let (mut line, mut x, mut places) = (0, 0, Vec::with_capacity(sizes.len()));
    for size in sizes {
        let wide = (size * scale.per_byte() / 1000).clamp(u64::from(LEAST_PX), width);
        if x > 0 && x + wide > width + GAP_PX {
            line += 1;
            x = 0;
        }
        places.push(Place {
            line,
            x: x as u32,
            width: wide.saturating_sub(GAP_PX).min(width - x) as u32,
        });
        x += wide;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_run_in_order_and_stay_within_the_line() {
        for width in [288, 358, 1368] {
            let sizes = [253, 253, 500, 61, 253, 253, 253, 253, 253, 253, 253, 253, 253];
            let scale = Scale {
                width,
                least_px: LEAST_PX,
                least_bytes: 61,
                most_bytes: 4096,
            };
            let placed = places(&sizes, scale);
            for pair in placed.windows(2) {
                let (a, b) = (pair[0], pair[1]);
                assert!(
                    b.line > a.line || (b.line == a.line && b.x >= a.x + a.width),
                    "{pair:?}"
                );
            }
            assert!(
                placed
                    .iter()
                    .all(|place| place.x + place.width <= width && place.width >= 24)
            );
        }
    }

    #[test]
    fn a_wide_page_draws_to_scale_in_one_line() {
        let scale = Scale {
            width: 1200,
            least_px: LEAST_PX,
            least_bytes: 1000,
            most_bytes: 4000,
        };
        let placed = places(&[1000, 2000, 1000], scale);
        assert_eq!(
            (scale.in_one_line(4000), scale.in_one_line(4100)),
            (Some(1200), None)
        );
        assert!(placed.iter().all(|place| place.line == 0));
        assert_eq!(placed[1].width, 2 * placed[0].width + 2);
    }
}
