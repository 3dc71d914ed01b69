mod cluster;
mod groups;
mod reading;
