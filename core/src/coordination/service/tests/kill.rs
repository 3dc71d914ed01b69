//! What a kill leaves of a service, wherever it comes.

use super::*;

/// A run over everything that is written: sessions that come, close and expire, nodes of all kinds.
fn busy_run(world: &mut World) -> Vec<(Tree, Vec<(SessionId, Millis)>)> {
    let state = |world: &World| (world.service.tree().clone(), world.service.sessions().collect());
    let mut states = vec![state(world)];
    for round in 0..12u64 {
        let client = round + 1;
        world.connect(client, 4000 + round as Millis);
        states.push(state(world));
        let multi = Multi::new()
            .create_ephemeral(format!("/e{round}"), vec![b'x'; 30])
            .create_sequential("/s", "s");
        world.multi(client, multi);
        states.push(state(world));
        match round % 3 {
            0 => world.put_in(ServiceInput::Close { client }),
            1 => world.pass(5000),
            _ => continue,
        }
        states.push(state(world));
    }
    states
}

#[test]
fn a_kill_at_any_byte_leaves_sessions_and_nodes_that_belong_together() {
    let mut world = World::new();
    world.service.store.snapshot_after(300);
    let states = busy_run(&mut world);
    let by_zxid: OrderedMap<Zxid, _> = states.iter().map(|state| (state.0.zxid(), state)).collect();
    let snapshots = world
        .all
        .iter()
        .filter(|(_, op)| matches!(op, DiskOp::Replace { .. }));
    assert!(snapshots.count() > 1, "the run must meet snapshots");
    let mut files = Files::default();
    let mut synced = 0;
    for (_, op) in &world.all {
        for part in 0..Files::steps(op) {
            let mut killed = files.clone();
            if part > 0 {
                killed.apply(op, part);
            }
            let found = killed.recover().unwrap();
            let zxid = found.tree.zxid();
            assert!(zxid >= synced, "{synced} was told, {zxid} found");
            if let Some((tree, sessions)) = by_zxid.get(&zxid) {
                assert_eq!(found.tree, *tree);
                assert_eq!(found.sessions.into_iter().collect::<Vec<_>>(), *sessions);
            }
        }
        files.apply(op, usize::MAX);
        if matches!(op, DiskOp::Sync { .. }) {
            synced = files.recover().unwrap().tree.zxid();
        }
    }
    assert_eq!(synced, world.service.tree().zxid());
}

#[test]
fn no_node_outlives_its_session() {
    let mut world = World::new();
    busy_run(&mut world);
    for (path, node) in world.service.tree().iter() {
        let owner = node.stat.ephemeral_owner;
        let is_open = owner == 0 || world.service.sessions().any(|(session, _)| session == owner);
        assert!(is_open, "{path} belongs to session {owner}, which is over");
    }
}
