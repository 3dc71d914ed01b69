mod cluster;
mod config;
mod cooperative;
mod groups;
mod leaders;
mod reading;
mod schedules;
