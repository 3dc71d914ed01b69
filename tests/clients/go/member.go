package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	heartbeat  = 300 * time.Millisecond
	mostAtOnce = 100
)

var balancers = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"roundrobin":         kgo.RoundRobinBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

// groupMember reads as one of a group until its standard input ends. See ../README.md.
type groupMember struct {
	topic  string
	client *kgo.Client
	// The next offset of each partition that has records which were processed and not committed.
	uncommitted map[int32]kgo.EpochOffset
}

func runMember(arguments []string) error {
	if len(arguments) != 7 {
		return fmt.Errorf("usage: probe member HOST:PORT TOPIC GROUP ASSIGNOR NAME SESSION_MS often|late")
	}
	sessionMs, err := strconv.Atoi(arguments[5])
	if err != nil {
		return err
	}
	m := &groupMember{topic: arguments[1], uncommitted: map[int32]kgo.EpochOffset{}}
	m.client, err = kgo.NewClient(kgo.SeedBrokers(arguments[0]), kgo.ConsumeTopics(m.topic),
		kgo.ConsumerGroup(arguments[2]), kgo.Balancers(balancers[arguments[3]]()), kgo.ClientID(arguments[4]),
		kgo.SessionTimeout(time.Duration(sessionMs)*time.Millisecond), kgo.HeartbeatInterval(heartbeat),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(m.assigned), kgo.OnPartitionsRevoked(m.revoked), kgo.OnPartitionsLost(m.lost))
	if err != nil {
		return err
	}
	often := arguments[6] == "often"
	ctx, end := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		end()
	}()
	for ctx.Err() == nil || len(m.uncommitted) > 0 {
		m.client.PollRecords(ctx, mostAtOnce).EachRecord(func(record *kgo.Record) {
			fmt.Println(record.Partition, record.Offset, string(record.Value))
			m.uncommitted[record.Partition] = kgo.EpochOffset{Epoch: record.LeaderEpoch, Offset: record.Offset + 1}
		})
		if often || ctx.Err() != nil {
			m.commit()
		}
		m.client.AllowRebalance()
	}
	m.client.Close()
	return nil
}

// commit: what is refused now goes with the next commit, unless the partition goes before.
func (m *groupMember) commit() {
	if len(m.uncommitted) == 0 {
		return
	}
	var refused error
	offsets := map[string]map[int32]kgo.EpochOffset{m.topic: m.uncommitted}
	m.client.CommitOffsetsSync(context.Background(), offsets,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			refused = err
			if answer == nil {
				return
			}
			for _, topic := range answer.Topics {
				for _, partition := range topic.Partitions {
					refused = first(refused, kerr.ErrorForCode(partition.ErrorCode))
				}
			}
		})
	if refused != nil {
		fmt.Fprintln(os.Stderr, "commit refused:", refused)
		return
	}
	said := "committed"
	for partition, next := range m.uncommitted {
		said += fmt.Sprintf(" %d:%d", partition, next.Offset)
	}
	fmt.Println(said)
	m.uncommitted = map[int32]kgo.EpochOffset{}
}

func (m *groupMember) assigned(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
	m.tell("assigned", assigned)
}

func (m *groupMember) revoked(_ context.Context, _ *kgo.Client, revoked map[string][]int32) {
	m.commit()
	m.tell("revoked", revoked)
}

func (m *groupMember) lost(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	m.tell("lost", lost)
}

func (m *groupMember) tell(word string, changed map[string][]int32) {
	partitions := slices.Sorted(slices.Values(changed[m.topic]))
	for _, partition := range partitions {
		if word != "assigned" {
			delete(m.uncommitted, partition)
		}
	}
	fmt.Println(strings.TrimRight(word+" "+strings.Trim(fmt.Sprint(partitions), "[]"), " "))
}
