//! `.log`: a line for each batch, and for each record of it if asked.

use crate::record::batch::{Batch, InvalidBatch};
use crate::record::compression::Codec;
use crate::record::control::{ControlType, EndTransactionMarker};
use crate::record::header::{BatchHeader, add_to_sequence};
use crate::record::record::Record;
use crate::types::Offset;

use super::reader::LogReader;
use super::{Decoder, Dump, DumpError, base_offset, corrupt, file_name};

impl Dump<'_> {
    pub(super) fn log_file(&mut self, path: &str, absolute: &str) -> Result<(), DumpError> {
        self.out(format!("Log starting offset: {}", base_offset(path)?));
        let max_bytes = self.options.max_bytes;
        let mut reader = LogReader::new(self.disk, self.dir, path, 0, max_bytes)?;
        let mut last_offset = -1;
        let mut position = 0;
        while let Some(batch) = reader.next()? {
            let line = batch_line(&batch, position).map_err(|why| corrupt(path, why.to_string()))?;
            self.out(line);
            if self.options.deep_iteration || self.options.print_data_log {
                last_offset = self.records(&batch, path, absolute, last_offset)?;
            }
            position = reader.position();
        }
        let left = reader.end() - position;
        if left > 0 && max_bytes == i32::MAX as u32 {
            let name = file_name(path);
            self.out(format!("Found {left} invalid bytes at the end of {name}"));
        }
        Ok(())
    }

    /// Gives the offset of the last record, or `last_offset` when there is none.
    fn records(
        &mut self,
        batch: &Batch,
        path: &str,
        absolute: &str,
        mut last_offset: Offset,
    ) -> Result<Offset, DumpError> {
        let invalid = |why: InvalidBatch| corrupt(path, why.to_string());
        let limit = self.options.max_decompressed_bytes;
        let records = batch.records(self.options.decompress, limit).map_err(invalid)?;
        if batch.header.codec() == Some(Codec::None) {
            for record in records {
                last_offset = self.record(batch, &record.map_err(invalid)?, absolute, last_offset)?;
            }
        } else {
            // Kafka unpacks a whole compressed batch before it says a word of it.
            let records = records.collect::<Result<Vec<_>, _>>().map_err(invalid)?;
            for record in &records {
                last_offset = self.record(batch, record, absolute, last_offset)?;
            }
        }
        Ok(last_offset)
    }

    fn record(
        &mut self,
        batch: &Batch,
        record: &Record,
        absolute: &str,
        last_offset: Offset,
    ) -> Result<Offset, DumpError> {
        if record.offset != last_offset.wrapping_add(1) {
            self.problems.gap(absolute, last_offset, record.offset);
        }
        let mut line = String::new();
        if !self.options.skip_record_metadata {
            line += &metadata(&batch.header, record);
            if batch.header.is_control() {
                line += &control(record).ok_or_else(|| {
                    let offset = record.offset;
                    corrupt(
                        absolute,
                        format!("the control record at offset {offset} is invalid"),
                    )
                })?;
            }
        }
        if self.options.print_data_log && !batch.header.is_control() {
            let before = if line.is_empty() { "| " } else { " " };
            line += &contents(self.options.decoder, record, before).ok_or_else(|| {
                let offset = record.offset;
                corrupt(
                    absolute,
                    format!("the record at offset {offset} has no key to decode"),
                )
            })?;
        }
        self.out(line);
        Ok(record.offset)
    }
}

fn batch_line(batch: &Batch, position: u64) -> Result<String, InvalidBatch> {
    let header = &batch.header;
    let codec = header
        .codec()
        .ok_or(InvalidBatch::UnknownCodec(header.codec_id()))?;
    let horizon = match header.delete_horizon_ms() {
        Some(time) => format!("OptionalLong[{time}]"),
        None => "OptionalLong.empty".to_owned(),
    };
    Ok(format!(
        "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} \
         producerEpoch: {} partitionLeaderEpoch: {} isTransactional: {} isControl: {} \
         deleteHorizonMs: {horizon} position: {position} {}: {} size: {} magic: {} \
         compresscodec: {} crc: {} isvalid: {}",
        header.base_offset,
        header.last_offset(),
        header.record_count,
        header.base_sequence,
        header.last_sequence(),
        header.producer_id,
        header.producer_epoch,
        header.partition_leader_epoch,
        header.is_transactional(),
        header.is_control(),
        header.timestamp_type().name(),
        header.max_timestamp,
        header.size_bytes(),
        header.magic,
        codec.name(),
        header.crc,
        batch.check_crc().is_ok(),
    ))
}

fn metadata(header: &BatchHeader, record: &Record) -> String {
    let size = |field: &Option<bytes::Bytes>| field.as_ref().map_or(-1, |bytes| bytes.len() as i64);
    let sequence = if header.base_sequence >= 0 {
        let delta = record.offset.wrapping_sub(header.base_offset) as i32;
        add_to_sequence(header.base_sequence, delta)
    } else {
        -1
    };
    let keys: Vec<_> = record
        .headers
        .iter()
        .map(|header| String::from_utf8_lossy(&header.key))
        .collect();
    format!(
        "| offset: {} {}: {} keySize: {} valueSize: {} sequence: {sequence} headerKeys: [{}]",
        record.offset,
        header.timestamp_type().name(),
        record.timestamp,
        size(&record.key),
        size(&record.value),
        keys.join(",")
    )
}

/// `None`: its key or value is not what its kind needs.
fn control(record: &Record) -> Option<String> {
    let kind = match ControlType::parse(record.key.as_deref()?)? {
        ControlType::Unknown(code) => return Some(format!(" controlType: UNKNOWN({code})")),
        ControlType::Abort => "ABORT",
        ControlType::Commit => "COMMIT",
    };
    let epoch = EndTransactionMarker::parse(record)?.coordinator_epoch;
    Some(format!(" endTxnMarker: {kind} coordinatorEpoch: {epoch}"))
}

/// `None`: the decoder needs a key and there is none.
fn contents(decoder: Decoder, record: &Record, mut before: &str) -> Option<String> {
    let decoded = decoder.decode(record)?;
    let mut text = String::new();
    for (label, field) in [("key", decoded.key), ("payload", decoded.value)] {
        if let Some(field) = field {
            text += &format!("{before}{label}: {field}");
            before = " ";
        }
    }
    Some(text)
}
