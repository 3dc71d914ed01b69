//! What a multi does to the tree, and what it does not do when it is refused.

use super::super::multi::{Multi, NodeError, NodeKind, OpResult};
use super::*;

fn tree() -> Tree {
    let mut tree = Tree::default();
    tree.apply(&Multi::new().create("/a", "1").create("/a/b", "2"), 0)
        .unwrap();
    tree
}

fn refused(tree: &mut Tree, multi: &Multi) -> (u32, NodeError) {
    let before = tree.clone();
    let error = tree.apply(multi, 7).unwrap_err();
    assert_eq!(*tree, before, "a refused multi leaves no trace");
    (error.index, error.error)
}

fn created(tree: &mut Tree, kind: NodeKind, path: &str) -> String {
    let results = tree.apply(&Multi::new().create_as(kind, path, ""), 7).unwrap();
    match &results[..] {
        [OpResult::Created { path }] => path.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_multi_happens_whole_under_one_zxid() {
    let mut tree = tree();
    assert_eq!(tree.zxid(), 1);
    let multi = Multi::new()
        .set("/a", "x", Some(0))
        .create("/a/c", "3")
        .check("/a", Some(1));
    let results = tree.apply(&multi, 0).unwrap();
    let stat = Stat {
        czxid: 1,
        mzxid: 2,
        version: 1,
        cversion: 1,
        ephemeral_owner: 0,
    };
    assert_eq!(results[0], OpResult::Set(stat));
    assert_eq!(results[1], OpResult::Created { path: "/a/c".into() });
    assert_eq!(results[2], OpResult::Checked);
    assert_eq!(tree.get("/a").unwrap().stat, Stat { cversion: 2, ..stat });
    let stat = tree.get("/a/c").unwrap().stat;
    assert_eq!((stat.czxid, stat.mzxid, stat.version), (2, 2, 0));
    assert_eq!(tree.children("/a").map(|n| &**n).collect::<Vec<_>>(), ["b", "c"]);
}

#[test]
fn a_multi_that_fails_late_undoes_what_it_did_early() {
    let mut tree = tree();
    tree.apply(&Multi::new().create_ephemeral("/mine", "e"), 7)
        .unwrap();
    let multi = Multi::new()
        .create("/new", "")
        .create_ephemeral("/new/child", "")
        .create_sequential("/new/n", "")
        .set("/a", "x", None)
        .delete("/a/b", None)
        .create("/a/b", "again")
        .delete("/mine", None)
        .check("/a", Some(7));
    let version = NodeError::BadVersion { expected: 7 };
    assert_eq!(refused(&mut tree, &multi), (7, version));
}

#[test]
fn each_operation_is_refused_for_its_own_reason() {
    let mut tree = tree();
    tree.apply(&Multi::new().create_ephemeral("/e", ""), 7).unwrap();
    let cases = [
        (Multi::new().create("/a", ""), NodeError::NodeExists),
        (Multi::new().create("/", ""), NodeError::NodeExists),
        (Multi::new().create("/no/child", ""), NodeError::NoNode),
        (Multi::new().create_sequential("/no/n", ""), NodeError::NoNode),
        (
            Multi::new().create("/e/child", ""),
            NodeError::NoChildrenForEphemerals,
        ),
        (
            Multi::new().create_as(NodeKind::EphemeralSequential, "/e/n", ""),
            NodeError::NoChildrenForEphemerals,
        ),
        (Multi::new().set("/no", "", None), NodeError::NoNode),
        (
            Multi::new().set("/a", "", Some(3)),
            NodeError::BadVersion { expected: 3 },
        ),
        (Multi::new().delete("/a", None), NodeError::NotEmpty),
        (
            Multi::new().delete("/a", Some(3)),
            NodeError::BadVersion { expected: 3 },
        ),
        (Multi::new().delete("/", None), NodeError::BadArguments),
        (Multi::new().check("/no", None), NodeError::NoNode),
        (Multi::new().create("a", ""), NodeError::BadArguments),
        (Multi::new().create("/a/../b", ""), NodeError::BadArguments),
        (Multi::new().create("/a//b", ""), NodeError::BadArguments),
        (
            Multi::new().create("/big", vec![0; 2_000_000]),
            NodeError::TooLarge {
                limit: MAX_DATA_BYTES,
                asked: 2_000_000,
            },
        ),
    ];
    for (multi, error) in cases {
        assert_eq!(refused(&mut tree, &multi), (0, error), "{multi:?}");
    }
    let alone = tree.apply(&Multi::new().create_ephemeral("/x", ""), 0);
    assert_eq!(alone.unwrap_err().error, NodeError::NoSession);
}

#[test]
fn a_node_made_again_is_another_node() {
    let mut tree = tree();
    tree.apply(&Multi::new().set("/a/b", "x", None), 0).unwrap();
    tree.apply(&Multi::new().delete("/a/b", Some(1)).create("/a/b", "y"), 0)
        .unwrap();
    let stat = tree.get("/a/b").unwrap().stat;
    assert_eq!((stat.czxid, stat.mzxid, stat.version), (3, 3, 0));
    assert_eq!(tree.get("/a").unwrap().stat.cversion, 3, "came, went, came");
}

#[test]
fn a_sequential_number_is_never_given_twice() {
    let mut tree = tree();
    let sequential = NodeKind::PersistentSequential;
    assert_eq!(created(&mut tree, sequential, "/a/n_"), "/a/n_0000000001");
    assert_eq!(
        created(&mut tree, NodeKind::EphemeralSequential, "/a/m_"),
        "/a/m_0000000002"
    );
    tree.apply(&Multi::new().delete("/a/n_0000000001", None), 0)
        .unwrap();
    tree.apply(&Multi::new().delete("/a/b", None), 0).unwrap();
    assert_eq!(created(&mut tree, sequential, "/a/n_"), "/a/n_0000000003");
    assert_eq!(created(&mut tree, sequential, "/a/"), "/a/0000000004");
    let parent = tree.get("/a").unwrap();
    assert_eq!((parent.stat.cversion, parent.children.len()), (7, 3));
}

#[test]
fn a_session_takes_its_nodes_with_it_and_no_others() {
    let mut tree = tree();
    let multi = Multi::new()
        .create_ephemeral("/e", "")
        .create_ephemeral("/a/e", "")
        .create("/stays", "");
    tree.apply(&multi, 7).unwrap();
    tree.apply(&Multi::new().create_ephemeral("/other", ""), 8)
        .unwrap();
    assert_eq!(tree.get("/e").unwrap().stat.ephemeral_owner, 7);
    let gone = tree.close_session(7);
    assert_eq!(gone, ["/a/e".into(), "/e".into()] as [Arc<str>; 2]);
    assert!(!tree.exists("/e") && !tree.exists("/a/e"));
    assert!(tree.exists("/stays") && tree.exists("/other"));
    assert_eq!(tree.zxid(), 4, "both under one zxid");
    assert_eq!(tree.ephemerals(7).count(), 0);
}

#[test]
fn a_mirror_numbers_and_versions_as_the_tree_it_was_read_from() {
    let mut tree = tree();
    tree.apply(&Multi::new().create_ephemeral("/a/e", "x"), 7)
        .unwrap();
    tree.apply(&Multi::new().delete("/a/b", None), 0).unwrap();
    let mut mirror = Tree::default();
    for (path, node) in tree.iter() {
        mirror.put(path, node.data.clone(), node.stat).unwrap();
    }
    assert_eq!(
        created(&mut mirror, NodeKind::PersistentSequential, "/a/n"),
        created(&mut tree, NodeKind::PersistentSequential, "/a/n")
    );
    let set = Multi::new().set("/a", "2", Some(0));
    assert_eq!(
        mirror.apply(&set, 0).unwrap().len(),
        tree.apply(&set, 0).unwrap().len()
    );
    assert_eq!(mirror.get("/a").unwrap().stat.version, 1);
    let stat = Stat {
        version: 9,
        ..tree.get("/a").unwrap().stat
    };
    mirror.put(&"/a".into(), "read again".into(), stat).unwrap();
    assert_eq!(mirror.get("/a").unwrap().stat.version, 9);
    assert_eq!(mirror.children("/a").count(), 2, "its children stay");
    mirror.forget("/a");
    assert!(!mirror.exists("/a") && !mirror.exists("/a/e"));
    assert_eq!(mirror.ephemerals(7).count(), 0);
    assert_eq!(
        mirror.put(&"/a/e".into(), Bytes::new(), stat),
        Err(NodeError::NoNode)
    );
}

#[test]
fn a_clone_is_another_tree() {
    let tree = tree();
    let mut other = tree.clone();
    other.apply(&Multi::new().set("/a", "x", None), 0).unwrap();
    assert_eq!(tree.get("/a").unwrap().data, "1");
    assert_eq!(other.get("/a").unwrap().data, "x");
}
