//! Whole expansions, formatted, against `src/snapshots/`. `UPDATE_SNAPSHOTS=1` writes them anew.

use super::tokens;
use std::{env, fs, path::Path};

/// Compares the expansion with the file; methods are shown in an `impl`.
#[track_caller]
fn check(name: &str, args: &str, item: &str) {
    let out = crate::cached(tokens(args), &tokens(item));
    let is_method = item.contains("self");
    let out = if is_method { quote::quote!(impl Service { #out }) } else { out };
    let file = syn::parse2(out.clone()).unwrap_or_else(|error| panic!("{error}: {out}"));
    let shown = format!("// #[stampede_cached({args})]\n// {item}\n\n{}", prettyplease::unparse(&file));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/snapshots").join(format!("{name}.rs"));
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &shown).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == shown, "{} differs (UPDATE_SNAPSHOTS=1 accepts it):\n{shown}", path.display());
}

#[test]
fn free_function() {
    check(
        "free_function",
        "ttl = 300, jitter = \"10%\", early = 60, skip(db)",
        "pub async fn report(db: &Db, date: Date) -> Result<Report, Error> { db.query(date).await }",
    );
}

#[test]
fn method() {
    check(
        "method",
        "ttl = \"1m\", key = (self.base, id), tags = [format!(\"{id}\")]",
        "async fn show(&self, id: u64) -> String { format!(\"{self:?} {}\", self.name(id)) }",
    );
}

#[test]
fn generic() {
    check(
        "generic",
        "ttl = 60, key = id, skip(repo)",
        "async fn load<D: Repo>(repo: Arc<D>, id: u64) -> String where D: Send { repo.load(id).await }",
    );
}

#[test]
fn borrowed() {
    check(
        "borrowed",
        "ttl = 60",
        "async fn find<'a>(name: &'a str, tag: Option<&str>, (a, b): (u8, &[u8]), mut n: u32) -> u32 { n += a; g(name, tag, b, n) }",
    );
}

#[test]
fn in_caller() {
    check(
        "in_caller",
        "ttl = 60, run = \"in_caller\", skip(db), crate = other",
        "async fn f(db: &RefCell<u8>, id: u8) { g(db, id) }",
    );
}

#[test]
fn instrumented() {
    check("instrumented", "ttl = 60", "#[must_use] #[tracing::instrument(skip_all)] async fn f(id: u8) -> u8 { id }");
}

#[test]
fn batch() {
    check(
        "batch",
        "ttl = 60, each = ids, skip(db)",
        "pub async fn users(db: &Db, lang: Lang, ids: &[Id]) -> Result<HashMap<Id, User>, Error> { db.users(lang, ids).await }",
    );
}

#[test]
fn named_parts() {
    check(
        "named_parts",
        "ttl = 60, key(tenant: u64 = t.id, day)",
        "async fn f(t: Tenant, day: &str) -> u8 { g(t, day) }",
    );
}

#[test]
fn boxed_by_async_trait() {
    check(
        "boxed_by_async_trait",
        "ttl = 60, skip(self)",
        "fn f<'life0, 'async_trait>(&'life0 self, id: u64) -> Pin<Box<dyn Future<Output = u8> + Send + 'async_trait>> \
         where 'life0: 'async_trait, Self: 'async_trait { Box::pin(async move { let __self = self; let id = id; __self.load(id).await }) }",
    );
}
