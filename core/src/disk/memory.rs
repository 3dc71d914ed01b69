//! The in-memory disk of simulations and tests.
