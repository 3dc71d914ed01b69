//! A real ZooKeeper and the service of our own, asked the same and answering the same; and what becomes
//! of a session when its ZooKeeper fails.

mod broker;
mod drawn;
mod failures;
mod names;
mod script;
