//! Runs a test binary that was built for `wasm32-unknown-unknown`.
//!
//! ```console
//! $ cargo test -p highwater-core --lib --target wasm32-unknown-unknown
//! ```
//!
//! builds the core's tests with Rust's own test harness and hands the module to this program
//! (`runner` in `.cargo/config.toml`). On that target a module has no output, no arguments and no
//! unwinding: a failed test is a trap. So [`module`] finds the list of tests in the module, and each
//! test gets an instance of its own, is run by the harness alone in it, and passes if nothing
//! trapped. What is printed has the form that the harness itself prints elsewhere.
//!
//! Invariants
//! - the module imports nothing: an interpreter without any host function runs it
//! - a module in which no test is found is an error, never a success

mod module;

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use module::TestModule;
use wasmi::{Engine, Linker, Module, Store};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((path, rest)) = arguments.split_first() else {
        eprintln!("usage: xtask-wasm MODULE.wasm [FILTER]");
        return ExitCode::FAILURE;
    };
    let filter = rest.iter().find(|a| !a.starts_with('-'));
    match run(path, filter.map_or("", String::as_str)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{path}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the tests whose name holds `filter`; answers whether all passed.
fn run(path: &str, filter: &str) -> Result<bool, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let module = TestModule::read(&bytes)?;
    let engine = Engine::default();
    let compiled = Module::new(&engine, &module.wasm).map_err(|e| e.to_string())?;
    if let Some(import) = compiled.imports().next() {
        return Err(format!(
            "imports {}.{}: the core must need nothing from its host",
            import.module(),
            import.name()
        ));
    }
    let names = instance(&engine, &compiled)?.names(&module)?;
    let chosen: Vec<(usize, &String)> = names
        .iter()
        .enumerate()
        .filter(|(_, name)| name.contains(filter))
        .collect();
    println!("\nrunning {} tests", chosen.len());
    let run_one = |(index, name): (usize, &String)| {
        let outcome = instance(&engine, &compiled).and_then(|mut own| own.run_test(&module, index));
        match outcome {
            Ok(()) => println!("test {name} ... ok"),
            Err(_) => println!("test {name} ... FAILED"),
        }
        outcome.err().map(|trap| format!("    {name}: {trap}"))
    };
    let failures = on_all_processors(&chosen, run_one);
    if !failures.is_empty() {
        println!("\nfailures (a panic's text is not to be had here; run the same test natively):");
        println!("{}", failures.join("\n"));
    }
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out",
        if failures.is_empty() { "ok" } else { "FAILED" },
        chosen.len() - failures.len(),
        failures.len(),
        names.len() - chosen.len()
    );
    Ok(failures.is_empty())
}

/// What `run_one` returns for the tests, in no order: each processor takes the next test that none has taken.
fn on_all_processors<T: Copy + Sync>(
    tests: &[T],
    run_one: impl Fn(T) -> Option<String> + Sync,
) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let take = || std::iter::from_fn(|| tests.get(next.fetch_add(1, Ordering::Relaxed)).copied());
    let work = || take().filter_map(&run_one).collect::<Vec<String>>();
    std::thread::scope(|scope| {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        let results = workers.into_iter().map(|worker| worker.join());
        results
            .flat_map(|failures| failures.unwrap_or_else(|_| vec!["    a worker panicked".to_owned()]))
            .collect()
    })
}

/// One life of the module.
struct Instance {
    store: Store<()>,
    instance: wasmi::Instance,
}

fn instance(engine: &Engine, compiled: &Module) -> Result<Instance, String> {
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine)
        .instantiate_and_start(&mut store, compiled)
        .map_err(|e| e.to_string())?;
    Ok(Instance { store, instance })
}

impl Instance {
    /// The tests' names, in the harness's order.
    fn names(&self, module: &TestModule) -> Result<Vec<String>, String> {
        let memory = self
            .instance
            .get_memory(&self.store, "memory")
            .ok_or("has no memory")?;
        let memory = memory.data(&self.store);
        (0..module.count)
            .map(|index| {
                module::name_of_test(memory, module.list + 4 * index)
                    .ok_or_else(|| format!("the name of test {index} is not where it was looked for"))
            })
            .collect()
    }

    /// Has the harness run one test, as if it were the only one.
    fn run_test(&mut self, module: &TestModule, index: usize) -> Result<(), String> {
        let harness = self
            .instance
            .get_typed_func::<(u32, u32), ()>(&self.store, module::HARNESS)
            .map_err(|e| e.to_string())?;
        let entry = (module.list + 4 * index) as u32;
        harness
            .call(&mut self.store, (entry, 1))
            .map_err(|e| e.to_string())
    }
}
