//! Vectors and symmetric matrices of the few parameters that a model has.

/// Parameters that a model may have.
pub(crate) const WIDTH: usize = 7;

/// A pivot smaller than this, of a matrix scaled to a diagonal of ones, is none: columns that agree
/// to this number of digits differ by rounding.
const PIVOT: f64 = 1e-11;

/// A value for each parameter; those a model has not are 0.
pub(crate) type Vector = [f64; WIDTH];

/// The first parameters; the others are 0.
pub(crate) const fn vector<const N: usize>(first: [f64; N]) -> Vector {
    let mut all = [0.0; WIDTH];
    let (values, _) = all.split_at_mut(N);
    values.copy_from_slice(&first);
    all
}

/// The sum of products.
pub(crate) fn dot(left: &Vector, right: &Vector) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

/// A symmetric matrix over some of the parameters.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Symmetric {
    cells: [Vector; WIDTH],
}

/// Which parameters take part.
pub(crate) type Mask = [bool; WIDTH];

/// The first of the parameters.
pub(crate) fn first(count: usize) -> Mask {
    std::array::from_fn(|at| at < count)
}

impl Symmetric {
    /// Of zeros.
    pub(crate) const ZERO: Self = Self { cells: [[0.0; WIDTH]; WIDTH] };

    /// Adds `weight` times the outer product of `v` with itself.
    pub(crate) fn add_outer(&mut self, weight: f64, v: &Vector) {
        for (row, x) in self.cells.iter_mut().zip(v) {
            let factor = weight * x;
            for (cell, y) in row.iter_mut().zip(v) {
                *cell += factor * y;
            }
        }
    }

    /// Sets the two cells of a pair of parameters.
    pub(crate) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.cells[row][column] = value;
        self.cells[column][row] = value;
    }

    /// `v` transposed times this times `v`.
    pub(crate) fn quadratic(&self, v: &Vector) -> f64 {
        self.cells.iter().zip(v).map(|(row, x)| x * dot(row, v)).sum()
    }

    /// This times `v`.
    pub(crate) fn times(&self, v: &Vector) -> Vector {
        std::array::from_fn(|row| dot(&self.cells[row], v))
    }

    /// Its diagonal.
    pub(crate) fn diagonal(&self) -> Vector {
        std::array::from_fn(|at| self.cells[at][at])
    }

    /// Adds to the diagonal.
    pub(crate) fn add_diagonal(&mut self, values: &Vector) {
        for (at, value) in values.iter().enumerate() {
            self.cells[at][at] += value;
        }
    }

    /// This, `middle` and this again multiplied: the sandwich of a covariance.
    pub(crate) fn around(&self, middle: &Self) -> Self {
        let mut cells = [[0.0; WIDTH]; WIDTH];
        for (row, cells) in cells.iter_mut().enumerate() {
            let left = middle.times(&self.cells[row]);
            for (column, cell) in cells.iter_mut().enumerate() {
                *cell = dot(&left, &self.cells[column]);
            }
        }
        Self { cells }
    }

    /// The inverse over the parameters of `mask`, zero elsewhere; `None` where it is singular.
    pub(crate) fn inverse(&self, mask: &Mask) -> Option<Self> {
        let mut scale = [0.0; WIDTH];
        for at in (0..WIDTH).filter(|at| mask[*at]) {
            let diagonal = self.cells[at][at];
            // Also false for what is no number.
            if !(diagonal > 0.0 && diagonal.is_finite()) {
                return None;
            }
            scale[at] = diagonal.sqrt().recip();
        }
        let mut work = [[0.0; WIDTH]; WIDTH];
        let mut inverse = [[0.0; WIDTH]; WIDTH];
        for row in 0..WIDTH {
            inverse[row][row] = 1.0;
            for column in 0..WIDTH {
                work[row][column] = self.cells[row][column] * scale[row] * scale[column];
            }
            if !mask[row] {
                work[row][row] = 1.0;
            }
        }
        // Gauss and Jordan; a positive definite matrix needs no exchange of rows.
        for at in 0..WIDTH {
            let pivot = work[at][at];
            if pivot.is_nan() || pivot <= PIVOT {
                return None;
            }
            for column in 0..WIDTH {
                work[at][column] /= pivot;
                inverse[at][column] /= pivot;
            }
            for row in (0..WIDTH).filter(|row| *row != at) {
                let factor = work[row][at];
                for column in 0..WIDTH {
                    work[row][column] -= factor * work[at][column];
                    inverse[row][column] -= factor * inverse[at][column];
                }
            }
        }
        for row in 0..WIDTH {
            for column in 0..WIDTH {
                inverse[row][column] *= scale[row] * scale[column];
            }
        }
        Some(Self { cells: inverse })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse__of_a_part_of_the_parameters() {
        let mut matrix = Symmetric::ZERO;
        for v in [[1.0, 2e6, 0.0, 1.0, 2.0], [1.0, -1e6, 5.0, 2.0, 7.0], [3.0, 4e6, 1.0, 0.0, 1.0]]
        {
            matrix.add_outer(0.5, &vector(v));
        }
        let mask = [true, true, false, true, false, false, false];
        let inverse = matrix.inverse(&mask).expect("three vectors for three parameters");
        let product = inverse.around(&matrix);
        for row in 0..WIDTH {
            for column in 0..WIDTH {
                // The inverse around the matrix is the inverse again.
                let (is, should) = (product.cells[row][column], inverse.cells[row][column]);
                assert!(
                    (is - should).abs() <= 1e-9 * should.abs(),
                    "{row} {column}: {is} {should}"
                );
            }
        }
        assert_eq!(inverse.times(&vector([0.0, 0.0, 1.0, 0.0, 1.0])), [0.0; WIDTH]);
    }

    #[test]
    fn inverse__of_a_singular_matrix_is_none() {
        let mut matrix = Symmetric::ZERO;
        matrix.add_outer(1.0, &vector([1.0, 2.0]));
        matrix.add_outer(1.0, &vector([2.0, 4.0]));
        assert!(matrix.inverse(&first(2)).is_none());
        assert!(matrix.inverse(&first(1)).is_some());
        assert!(matrix.inverse(&[false, false, true, false, false, false, false]).is_none());
    }
}
