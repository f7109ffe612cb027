//! The file of orders: created on the first run, recognised on later ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use indicatif::{ProgressBar, ProgressStyle};
use rusqlite::{Connection, OpenFlags, params};

use crate::latency::grouped;

/// The days that have orders.
const DAYS: usize = 30;
const CUSTOMERS: u64 = 50_000;
const PRODUCTS: u64 = 200;
const SEED: u64 = 9;

/// Marks the file as ours ("NINE"), so that nobody else's file is ever replaced.
const APPLICATION_ID: i32 = 0x4e49_4e45;
/// Raised when the table or the generator changes, so that an older file is made anew.
const VERSION: i32 = 1;
const TABLE: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, day TEXT NOT NULL, customer INTEGER NOT NULL,
     product INTEGER NOT NULL, quantity INTEGER NOT NULL, cents INTEGER NOT NULL)";
const INSERT: &str = "INSERT INTO orders (day, customer, product, quantity, cents) VALUES (?1, ?2, ?3, ?4, ?5)";

const BATCH: u64 = 50_000;

/// What lies at the path of the file.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Good,
    /// Ours, but not what is wanted: the reason.
    Outdated(String),
    Foreign,
}

/// The date of one of the [`DAYS`], counted from 0.
pub(crate) fn date(day: usize) -> String {
    format!("2026-03-{:02}", day % DAYS + 1)
}

/// Makes sure that `file` holds `rows` orders.
pub(crate) fn ensure(file: &Path, rows: u64) -> Result<(), String> {
    match inspect(file, rows) {
        Found::Good => {
            println!("found {} orders in {}", grouped(rows), file.display());
            return Ok(());
        }
        Found::Nothing => {}
        Found::Outdated(reason) => println!("{} is made anew: {reason}", file.display()),
        Found::Foreign => {
            return Err(format!("{} is no database of this example: give another --file", file.display()));
        }
    }
    create(file, rows).map_err(|error| format!("{} could not be created: {error}", file.display()))
}

fn inspect(file: &Path, rows: u64) -> Found {
    if !file.exists() {
        return Found::Nothing;
    }
    let Ok((application, version)) = identity(file) else { return Found::Foreign };
    if application != APPLICATION_ID {
        return Found::Foreign;
    }
    if version != VERSION {
        return Found::Outdated(format!("it is of version {version}, not {VERSION}"));
    }
    match count(file) {
        Ok(found) if found == rows => Found::Good,
        Ok(found) => Found::Outdated(format!("it has {} orders, not {}", grouped(found), grouped(rows))),
        Err(error) => Found::Outdated(error.to_string()),
    }
}

fn identity(file: &Path) -> rusqlite::Result<(i32, i32)> {
    let connection = open_read_only(file)?;
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get(0));
    Ok((pragma("application_id")?, pragma("user_version")?))
}

fn count(file: &Path) -> rusqlite::Result<u64> {
    open_read_only(file)?.query_row("SELECT count(*) FROM orders", [], |row| row.get(0))
}

pub(crate) fn open_read_only(file: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Writes the orders under a name of its own and renames the file when it is complete: an interrupted run leaves
/// nothing that could be taken for the database.
fn create(file: &Path, rows: u64) -> Result<(), Box<dyn std::error::Error>> {
    remove_leftovers(file);
    println!("creating {} orders in {}", grouped(rows), file.display());
    let part = part_of(file);
    let done = fill(&part, rows).map_err(Into::into).and_then(|()| Ok(fs::rename(&part, file)?));
    if done.is_err() {
        let _ = fs::remove_file(&part);
    }
    done
}

fn part_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    name.into()
}

/// Parts that no process writes to any more: a running one touches its own several times a second.
fn remove_leftovers(file: &Path) {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let Ok(siblings) = fs::read_dir(folder) else { return };
    let prefix = file.file_name().unwrap_or_default().to_string_lossy().into_owned() + ".";
    for sibling in siblings.flatten() {
        let name = sibling.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".part"));
        let is_part = process.is_some_and(|process| process.parse::<u32>().is_ok());
        if is_part && age(&sibling.path()).is_some_and(|age| age > Duration::from_secs(60)) {
            let _ = fs::remove_file(sibling.path());
        }
    }
}

fn age(path: &Path) -> Option<Duration> {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    SystemTime::now().duration_since(modified).ok()
}

fn fill(part: &Path, rows: u64) -> rusqlite::Result<()> {
    let mut connection = Connection::open(part)?;
    // Nothing needs to survive a crash: what is not complete is thrown away.
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE")?;
    connection.execute(TABLE, [])?;
    let progress = progress_bar(rows);
    let mut dice = Dice(SEED);
    let mut written = 0;
    while written < rows {
        let batch = BATCH.min(rows - written);
        insert(&mut connection, &mut dice, batch)?;
        written += batch;
        progress.set_position(written);
    }
    progress.finish();
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    connection.close().map_err(|(_, error)| error)
}

fn progress_bar(rows: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:50} {human_pos} of {human_len} orders, {eta} left");
    ProgressBar::new(rows).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn insert(connection: &mut Connection, dice: &mut Dice, batch: u64) -> rusqlite::Result<()> {
    let days: Vec<String> = (0..DAYS).map(date).collect();
    let transaction = connection.transaction()?;
    let mut statement = transaction.prepare(INSERT)?;
    for _ in 0..batch {
        let day = dice.pick(&days);
        let (customer, product) = (dice.below(CUSTOMERS), dice.below(PRODUCTS));
        statement.execute(params![day, customer, product, dice.below(5) + 1, dice.below(20_000) + 99])?;
    }
    drop(statement);
    transaction.commit()
}

/// A seeded generator (SplitMix64): every run makes the same orders.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn pick<'a, T>(&mut self, choice: &'a [T]) -> &'a T {
        let index = usize::try_from(self.below(choice.len() as u64));
        &choice[index.expect("it is below a usize")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for one test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("nine_oclock-{test}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_complete_file_is_recognised_and_another_size_is_not() {
        let folder = Folder::new("recognised");
        let file = folder.0.join("orders.sqlite");
        assert_eq!(inspect(&file, 500), Found::Nothing);
        ensure(&file, 500).unwrap();
        assert_eq!(inspect(&file, 500), Found::Good);
        assert!(matches!(inspect(&file, 501), Found::Outdated(_)));
        ensure(&file, 501).unwrap();
        assert_eq!(inspect(&file, 501), Found::Good);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "a part was left");
    }

    #[test]
    fn a_file_of_somebody_else_is_left_alone() {
        let folder = Folder::new("foreign");
        let file = folder.0.join("letters.txt");
        fs::write(&file, "Dear Sir or Madam, ".repeat(100)).unwrap();
        assert!(ensure(&file, 500).is_err());
        assert!(fs::read_to_string(&file).unwrap().starts_with("Dear Sir"));
    }

    #[test]
    fn every_run_makes_the_same_orders() {
        let turnover = |test| {
            let folder = Folder::new(test);
            let file = folder.0.join("orders.sqlite");
            ensure(&file, 1_000).unwrap();
            let connection = open_read_only(&file).unwrap();
            connection.query_row("SELECT sum(quantity * cents) FROM orders", [], |row| row.get::<_, i64>(0)).unwrap()
        };
        assert_eq!(turnover("same-1"), turnover("same-2"));
    }
}
