// franz-go, with its defaults: idempotent, acks=all. See ../README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	perCodec     = 4
	deleteBefore = 4
	patience     = 30 * time.Second

	groupPartitions = 4
	groupRecords    = 40
	groupMore       = 8
)

var (
	codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}
	count  = perCodec * len(codecs)
	baseMs = time.Now().Unix()*1000 - 60_000
)

type probe struct {
	bootstrap, topic string
	admin            *kadm.Client
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "member" {
		if err := runMember(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: probe HOST:PORT TOPIC, or probe member ...")
		os.Exit(2)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer client.Close()
	p := probe{os.Args[1], os.Args[2], kadm.NewClient(client)}
	report("create-topic", func(ctx context.Context) error { return p.make(ctx, p.topic, 1) })
	for c, codec := range codecs {
		report("produce-"+codec, func(ctx context.Context) error { return p.produce(ctx, c) })
	}
	report("consume", p.consume)
	report("list-offsets", p.listOffsets)
	report("offsets-by-time", p.offsetsByTime)
	report("group", p.group)
	report("group-resume", p.groupResume)
	report("group-leave", p.groupLeave)
	report("consumer-protocol", p.consumerProtocol)
	report("delete-records", p.deleteRecords)
	report("delete-topic", p.deleteTopic)
}

func report(feature string, check func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := check(ctx); err != nil {
		detail := strings.NewReplacer("\t", " ", "\n", " ").Replace(err.Error())
		fmt.Printf("%s\tfail\t%s\n", feature, detail)
		return
	}
	fmt.Printf("%s\tok\t\n", feature)
}

func expect(got, wanted any, what string) error {
	if got != wanted {
		return fmt.Errorf("%s: %v, not %v", what, got, wanted)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// records of codec c, as they are sent and as they must come back.
func (p probe) records(c int) []*kgo.Record {
	codec := codecs[c]
	ms := baseMs + int64(1000*c)
	headers := []kgo.RecordHeader{{Key: "one", Value: []byte("1")}, {Key: "empty", Value: []byte{}}, {Key: "none"}}
	records := []*kgo.Record{
		{Key: []byte(codec + "-key"), Value: []byte(strings.Repeat(codec+"-value ", 50)), Headers: headers},
		{Value: []byte(codec + "-no-key")},
		{Key: []byte(codec + "-tombstone")},
		{Key: []byte{}, Value: []byte{}},
	}
	for n, record := range records {
		record.Topic = p.topic
		record.Timestamp = time.UnixMilli(ms + int64(n))
	}
	return records
}

func (p probe) make(ctx context.Context, topic string, partitions int32) error {
	if _, err := p.admin.CreateTopic(ctx, partitions, 1, nil, topic); err != nil {
		return err
	}
	return p.untilListed(ctx, topic, true)
}

// untilListed waits for what the cluster does in its own time, as deleting a topic is.
func (p probe) untilListed(ctx context.Context, topic string, listed bool) error {
	for {
		topics, err := p.admin.ListTopics(ctx)
		if err != nil {
			return err
		}
		if topics.Has(topic) == listed {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (p probe) produce(ctx context.Context, c int) error {
	compression := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(),
		kgo.Lz4Compression(), kgo.ZstdCompression()}[c]
	client, err := kgo.NewClient(kgo.SeedBrokers(p.bootstrap), kgo.ProducerBatchCompression(compression),
		kgo.ProducerLinger(50*time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	results := client.ProduceSync(ctx, p.records(c)...)
	for n, result := range results {
		if result.Err != nil {
			return result.Err
		}
		if err := expect(result.Record.Offset, int64(perCodec*c+n), "offset"); err != nil {
			return err
		}
	}
	return nil
}

func (p probe) consume(ctx context.Context) error {
	offsets := map[string]map[int32]kgo.Offset{p.topic: {0: kgo.NewOffset().At(0)}}
	client, err := kgo.NewClient(kgo.SeedBrokers(p.bootstrap), kgo.ConsumePartitions(offsets))
	if err != nil {
		return err
	}
	defer client.Close()
	var got []*kgo.Record
	for len(got) < count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("after %d of %d records: %w", len(got), count, err)
		}
		got = append(got, fetches.Records()...)
	}
	for c := range codecs {
		for n, wanted := range p.records(c) {
			offset := perCodec*c + n
			record := got[offset]
			err := first(
				expect(record.Offset, int64(offset), "offset"),
				expect(show(record.Key), show(wanted.Key), fmt.Sprint("key at ", offset)),
				expect(show(record.Value), show(wanted.Value), fmt.Sprint("value at ", offset)),
				expect(showHeaders(record.Headers), showHeaders(wanted.Headers), fmt.Sprint("headers at ", offset)),
				expect(record.Timestamp.UnixMilli(), wanted.Timestamp.UnixMilli(), fmt.Sprint("time at ", offset)),
			)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func show(bytes []byte) string {
	if bytes == nil {
		return "null"
	}
	return fmt.Sprintf("%q", bytes)
}

func showHeaders(headers []kgo.RecordHeader) string {
	var shown []string
	for _, header := range headers {
		shown = append(shown, header.Key+"="+show(header.Value))
	}
	return strings.Join(shown, " ")
}

func (p probe) offset(listed kadm.ListedOffsets, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	found, _ := listed.Lookup(p.topic, 0)
	return found.Offset, found.Err
}

func (p probe) listOffsets(ctx context.Context) error {
	earliest, err := p.offset(p.admin.ListStartOffsets(ctx, p.topic))
	if err != nil {
		return err
	}
	latest, err := p.offset(p.admin.ListEndOffsets(ctx, p.topic))
	return first(err, expect(earliest, int64(0), "earliest"), expect(latest, int64(count), "latest"))
}

func (p probe) offsetsByTime(ctx context.Context) error {
	// kadm answers the end of the partition for a time after the last record.
	for ms, wanted := range map[int64]int64{1500: 8, 2001: 9, 3_600_000: int64(count)} {
		offset, err := p.offset(p.admin.ListOffsetsAfterMilli(ctx, baseMs+ms, p.topic))
		if err := first(err, expect(offset, wanted, fmt.Sprintf("at base + %d ms", ms))); err != nil {
			return err
		}
	}
	return nil
}

// member of the group, and how many partitions it has.
type member struct {
	client     *kgo.Client
	partitions atomic.Int32
}

func (p probe) grouped() string { return p.topic + "-group" }

func (p probe) member() (*member, error) {
	m := &member{}
	count := func(sign int32) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
			m.partitions.Add(sign * int32(len(changed[p.grouped()])))
		}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(p.bootstrap), kgo.ConsumerGroup(p.grouped()),
		kgo.ConsumeTopics(p.grouped()), kgo.DisableAutoCommit(), kgo.HeartbeatInterval(500*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(count(1)), kgo.OnPartitionsRevoked(count(-1)), kgo.OnPartitionsLost(count(-1)))
	m.client = client
	return m, err
}

func (p probe) members(count int) ([]*member, error) {
	var members []*member
	for range count {
		m, err := p.member()
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

func assigned(ctx context.Context, members []*member, partitions int32) error {
	for {
		all := true
		for _, m := range members {
			all = all && m.partitions.Load() == partitions
		}
		if all {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("not each member has %d partitions", partitions)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (p probe) sendNumbers(ctx context.Context, from, count int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(p.bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	for number := from; number < from+count; number++ {
		records = append(records, &kgo.Record{Topic: p.grouped(), Partition: int32(number % groupPartitions),
			Value: []byte(strconv.Itoa(number))})
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// receive reads that many numbers with all members, each number once.
func receive(ctx context.Context, members []*member, from, count int) error {
	var got []int
	for len(got) < count && ctx.Err() == nil {
		for _, m := range members {
			soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			for _, record := range m.client.PollFetches(soon).Records() {
				number, err := strconv.Atoi(string(record.Value))
				if err != nil {
					cancel()
					return err
				}
				got = append(got, number)
			}
			cancel()
		}
	}
	slices.Sort(got)
	var wanted []int
	for number := from; number < from+count; number++ {
		wanted = append(wanted, number)
	}
	return expect(fmt.Sprint(got), fmt.Sprint(wanted), "records")
}

func commitAndClose(ctx context.Context, members []*member) error {
	for _, m := range members {
		if err := m.client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
		m.client.Close()
	}
	return nil
}

func (p probe) group(ctx context.Context) error {
	if err := p.make(ctx, p.grouped(), groupPartitions); err != nil {
		return err
	}
	members, err := p.members(2)
	if err != nil {
		return err
	}
	if err := assigned(ctx, members, groupPartitions/2); err != nil {
		return err
	}
	if err := p.sendNumbers(ctx, 0, groupRecords); err != nil {
		return err
	}
	if err := receive(ctx, members, 0, groupRecords); err != nil {
		return err
	}
	return commitAndClose(ctx, members)
}

func (p probe) groupResume(ctx context.Context) error {
	if err := p.sendNumbers(ctx, groupRecords, groupMore); err != nil {
		return err
	}
	members, err := p.members(1)
	if err != nil {
		return err
	}
	if err := receive(ctx, members, groupRecords, groupMore); err != nil {
		return err
	}
	return commitAndClose(ctx, members)
}

func (p probe) groupLeave(ctx context.Context) error {
	members, err := p.members(2)
	if err != nil {
		return err
	}
	if err := assigned(ctx, members, groupPartitions/2); err != nil {
		return err
	}
	members[1].client.Close()
	if err := assigned(ctx, members[:1], groupPartitions); err != nil {
		return err
	}
	members[0].client.Close()
	return nil
}

// consumerProtocol asks for it, as one has to with franz-go: it is off, and the member falls back to the classic one.
func (p probe) consumerProtocol(ctx context.Context) error {
	group := p.topic + "-consumer-protocol"
	asking := context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true)
	client, err := kgo.NewClient(kgo.SeedBrokers(p.bootstrap), kgo.WithContext(asking), kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(p.topic), kgo.Balancers(kgo.RangeBalancer()))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.PollRecords(ctx, 1).Err(); err != nil {
		return err
	}
	described, err := p.admin.DescribeGroups(ctx, group)
	if err != nil {
		return err
	}
	found := described[group]
	return first(found.Err, expect(found.Protocol, "range", "the classic group's protocol"))
}

func (p probe) deleteRecords(ctx context.Context) error {
	var before kadm.Offsets
	before.AddOffset(p.topic, 0, deleteBefore, -1)
	deleted, err := p.admin.DeleteRecords(ctx, before)
	if err != nil {
		return err
	}
	answer, _ := deleted.Lookup(p.topic, 0)
	earliest, err := p.offset(p.admin.ListStartOffsets(ctx, p.topic))
	return first(answer.Err, err, expect(answer.LowWatermark, int64(deleteBefore), "low watermark"),
		expect(earliest, int64(deleteBefore), "earliest"))
}

func (p probe) deleteTopic(ctx context.Context) error {
	gone := p.topic + "-gone"
	if err := p.make(ctx, gone, 1); err != nil {
		return err
	}
	if _, err := p.admin.DeleteTopic(ctx, gone); err != nil {
		return err
	}
	return p.untilListed(ctx, gone, false)
}
