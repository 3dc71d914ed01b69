mod batching;
mod cluster;
mod failing;
mod restarts;
mod script;
mod sending;
