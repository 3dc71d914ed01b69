mod cluster;
mod config;
mod groups;
mod leaders;
mod reading;
mod schedules;
