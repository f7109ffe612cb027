//! Who leads, who follows, and who may store.

use super::*;
use proptest::prelude::*;

const HASH: u64 = 7;

/// The flights of one key.
struct Field {
    flights: Flights,
    /// Whose copies are counted: the table's alone, for each flight has an equal key of its own.
    key: SharedKey,
}

fn key() -> SharedKey {
    Arc::new("key")
}

/// A value as a loader gives it.
fn value(value: u32) -> Landing {
    Landing::Value(Arc::new(value))
}

impl Field {
    fn new() -> Self {
        Self { flights: Flights::new(), key: key() }
    }

    fn flight(reason: Reason, tags: &[&'static str]) -> Arc<Flight> {
        let tags = tags.iter().map(|&tag| tag.into()).collect();
        Arc::new(Flight::new(HASH, key(), "f".into(), Now::read(), reason, tags))
    }

    fn board(&self, since: u64, can_lead: bool) -> Role {
        let reason = if since == 0 { Reason::Miss } else { Reason::Forced };
        self.flights.lock(HASH).board(&self.key, HASH, since, can_lead, &mut || Self::flight(reason, &["tag"]))
    }

    fn lead(&self, since: u64) -> Arc<Flight> {
        match self.board(since, true) {
            Role::Lead { flight, .. } => flight,
            role => panic!("should lead: {role:?}"),
        }
    }

    fn follows(&self, since: u64, flight: &Arc<Flight>) -> bool {
        matches!(self.board(since, true), Role::Follow(other) if Arc::ptr_eq(&other, flight))
    }

    fn awaits(&self, since: u64, flight: &Arc<Flight>) -> bool {
        matches!(self.board(since, true), Role::Await(other) if Arc::ptr_eq(&other, flight))
    }

    fn supersede(&self) {
        self.flights.lock(HASH).supersede(HASH, &|other| self.key.matches(other));
    }

    /// Whether the flight may store.
    fn land(&self, flight: &Arc<Flight>) -> bool {
        let landed = self.flights.lock(HASH).land(flight);
        flight.land(value(0));
        landed.accepted
    }

    /// Whether nothing is left of the key.
    fn is_empty(&self) -> bool {
        Arc::strong_count(&self.key) == 1
    }
}

#[test]
fn the_first_leads_and_all_others_follow() {
    let field = Field::new();
    let flight = field.lead(0);
    assert!(field.follows(0, &flight));
    assert!(field.follows(0, &flight));
    assert!(field.land(&flight));
    assert!(field.is_empty());
    assert_ne!(field.lead(0).number, flight.number);
}

#[test]
fn who_cannot_lead_follows_or_is_stranded() {
    let field = Field::new();
    assert!(matches!(field.board(0, false), Role::Stranded));
    assert!(field.is_empty());
    let flight = field.lead(0);
    assert!(matches!(field.board(0, false), Role::Follow(_)));
    field.supersede();
    assert!(matches!(field.board(0, false), Role::Await(other) if Arc::ptr_eq(&other, &flight)));
}

#[test]
fn a_superseded_flight_stores_nothing_and_takes_no_newcomers() {
    let field = Field::new();
    let old = field.lead(0);
    field.supersede();
    let new = field.lead(0);
    assert!(field.follows(0, &new));
    assert!(!field.land(&old));
    assert!(field.follows(0, &new));
    assert!(field.land(&new));
    assert!(field.is_empty());
}

#[test]
fn one_superseded_flight_is_enough() {
    let field = Field::new();
    let first = field.lead(0);
    field.supersede();
    let second = field.lead(0);
    field.supersede();
    assert!(field.awaits(0, &second));
    assert!(!field.land(&first));
    let third = field.lead(0);
    assert!(!field.land(&second));
    assert!(field.land(&third));
    assert!(field.is_empty());
}

#[test]
fn an_overdue_flight_may_store_until_a_newer_one_has() {
    for old_first in [true, false] {
        let field = Field::new();
        let old = field.lead(0);
        old.pass_overdue();
        let Role::Lead { flight: new, anew: true } = field.board(0, true) else { panic!("should lead anew") };
        if old_first {
            assert!(field.land(&old) && field.land(&new));
        } else {
            assert!(field.land(&new) && !field.land(&old));
        }
        assert!(field.is_empty());
    }
}

#[test]
fn who_wants_a_new_answer_takes_none_that_was_on_its_way() {
    let field = Field::new();
    let old = field.lead(0);
    let new = field.lead(next_number());
    assert!(new.number > old.number);
    assert!(field.follows(0, &new), "who comes later gets the newer answer");
    assert!(!field.land(&old));
    assert!(field.land(&new));
}

#[test]
fn forced_loads_are_not_piled_up() {
    let field = Field::new();
    let first = field.lead(next_number());
    let later = [next_number(), next_number()];
    assert!(later.iter().all(|&since| field.awaits(since, &first)));
    assert!(field.land(&first));
    let second = field.lead(later[0]);
    assert!(field.follows(later[1], &second));
}

#[test]
fn a_refresh_is_not_begun_beside_another_load() {
    let field = Field::new();
    let board =
        || field.flights.lock(HASH).board_refresh(&field.key, HASH, &mut || Field::flight(Reason::Refresh, &[]));
    let (refresh, _) = board().unwrap();
    assert!(refresh.is_refresh());
    assert!(board().is_none());
    assert!(field.follows(0, &refresh));
    assert!(!refresh.is_refresh(), "somebody waits for it now");
    assert!(field.land(&refresh));
    assert!(board().is_some());
}

#[test]
fn a_refresh_is_begun_beside_a_load_that_brings_nothing_more() {
    let field = Field::new();
    let board =
        || field.flights.lock(HASH).board_refresh(&field.key, HASH, &mut || Field::flight(Reason::Refresh, &[]));
    let superseded = field.lead(0);
    field.supersede();
    let (second, anew) = board().unwrap();
    assert!(!anew && board().is_none());
    second.pass_overdue();
    let (third, anew) = board().unwrap();
    assert!(anew && board().is_none());
    assert!(!field.land(&superseded));
    assert!(field.land(&third) && !field.land(&second));
    assert!(field.is_empty());
}

#[test]
fn a_tag_supersedes_the_flights_that_carry_it() {
    let field = Field::new();
    let supersede = |tag: Option<&str>| field.flights.each().for_each(|mut locked| locked.supersede_all(tag));
    let flight = field.lead(0);
    supersede(Some("other"));
    assert!(field.follows(0, &flight));
    supersede(Some("tag"));
    let next = field.lead(0);
    supersede(None);
    assert!(field.awaits(0, &next));
}

#[test]
fn expiring_reaches_all_flights_that_run_and_none_that_come() {
    let field = Field::new();
    let old = field.lead(0);
    let new = field.lead(next_number());
    field.flights.lock(HASH).expire(HASH, &|other| field.key.matches(other));
    assert!(old.is_expired() && new.is_expired());
    field.land(&old);
    field.land(&new);
    assert!(!field.lead(0).is_expired());
}

#[test]
fn keys_of_one_hash_stay_apart() {
    let field = Field::new();
    let other: SharedKey = Arc::new("other");
    let flight = field.lead(0);
    field.flights.lock(HASH).supersede(HASH, &|key| other.matches(key));
    assert!(field.follows(0, &flight));
    let role = field.flights.lock(HASH).board(&other, HASH, 0, true, &mut || Field::flight(Reason::Miss, &[]));
    let Role::Lead { flight: others, .. } = role else { panic!("should lead: {role:?}") };
    assert!(field.follows(0, &flight));
    assert!(field.land(&others) && field.land(&flight));
    assert!(field.is_empty());
}

#[test]
fn a_flight_that_was_never_boarded_stores_nothing() {
    let field = Field::new();
    assert!(!field.land(&Field::flight(Reason::Miss, &[])));
}

#[test]
fn a_landing_is_claimed_once() {
    let flight = Field::flight(Reason::Miss, &[]);
    let claim = flight.claim_landing().unwrap();
    assert!(flight.claim_landing().is_none());
    assert!(flight.landing().is_none(), "who comes too late has no say");
    claim.land(value(7));
    assert!(matches!(flight.landing(), Some(Landing::Value(value)) if value.downcast_ref() == Some(&7_u32)));
}

#[test]
fn a_claim_that_comes_to_nothing_abandons_the_flight() {
    let flight = Field::flight(Reason::Miss, &[]);
    drop(flight.claim_landing());
    assert!(matches!(flight.landing(), Some(Landing::Failed(Failure::Abandoned))));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A caller comes, who takes no answer that was on its way before, or any.
    Board {
        forced: bool,
    },
    Land(usize),
    Overdue(usize),
    Supersede,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::bool::weighted(0.3).prop_map(|forced| Step::Board { forced }),
        3 => any::<usize>().prop_map(Step::Land),
        1 => any::<usize>().prop_map(Step::Overdue),
        2 => Just(Step::Supersede),
    ]
}

/// A flight that runs, and whether anything newer than it was said or stored since it began.
struct Running {
    flight: Arc<Flight>,
    outdated: bool,
}

/// The flights that run, in the order in which they began.
#[derive(Default)]
struct Model {
    running: Vec<Running>,
    /// The number of the newest flight, be it landed or not.
    newest: u64,
}

impl Model {
    fn take(&mut self, field: &Field, step: Step) {
        match step {
            Step::Board { forced } => self.board(field, if forced { next_number() } else { 0 }),
            Step::Land(index) if !self.running.is_empty() => {
                let Running { flight, outdated } = self.running.remove(index % self.running.len());
                assert_eq!(field.land(&flight), !outdated, "an older value must not replace a newer one");
                if !outdated {
                    self.outdate(|running| running.number < flight.number);
                }
            }
            Step::Overdue(index) if !self.running.is_empty() => {
                self.running[index % self.running.len()].flight.pass_overdue();
            }
            Step::Land(_) | Step::Overdue(_) => {}
            Step::Supersede => {
                field.supersede();
                self.outdate(|_| true);
            }
        }
    }

    fn board(&mut self, field: &Field, since: u64) {
        match field.board(since, true) {
            Role::Follow(flight) => {
                let joined = self.running.iter().find(|running| Arc::ptr_eq(&running.flight, &flight)).unwrap();
                assert!(!joined.outdated && flight.number >= since);
            }
            Role::Await(flight) => assert!(!flight.is_overdue()),
            Role::Lead { flight, anew } => {
                let newest = self.running.last().filter(|last| last.flight.number == self.newest);
                assert_eq!(anew, newest.is_some_and(|newest| newest.flight.is_overdue()));
                self.newest = flight.number;
                if since > 0 && !anew {
                    self.outdate(|_| true);
                }
                self.running.push(Running { flight, outdated: false });
                let in_time = self.running.iter().filter(|running| !running.flight.is_overdue());
                assert!(in_time.count() <= 2, "one that counts, and one that was superseded");
            }
            Role::Stranded => panic!("it could lead"),
        }
    }

    fn outdate(&mut self, which: impl Fn(&Flight) -> bool) {
        self.running.iter_mut().filter(|running| which(&running.flight)).for_each(|running| running.outdated = true);
    }
}

proptest! {
    #[test]
    fn what_is_stored_is_never_older_than_what_was_there(steps in prop::collection::vec(step(), 1..40)) {
        let field = Field::new();
        let mut model = Model::default();
        for step in steps {
            model.take(&field, step);
        }
        while !model.running.is_empty() {
            model.take(&field, Step::Land(0));
        }
        prop_assert!(field.is_empty());
    }
}

/// A key that counts how often it is dropped.
#[derive(Clone)]
struct Loud(Arc<AtomicUsize>);

impl std::hash::Hash for Loud {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl PartialEq for Loud {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Loud {}

impl Drop for Loud {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn no_key_is_dropped_under_the_lock() {
    let drops = Arc::new(AtomicUsize::new(0));
    let flights = Flights::new();
    let lead = || {
        let key: SharedKey = Arc::new(Loud(Arc::clone(&drops)));
        let new = || Arc::new(Flight::new(HASH, Arc::clone(&key), "f".into(), Now::read(), Reason::Miss, vec![]));
        match flights.lock(HASH).board(&key, HASH, 0, true, &mut || new()) {
            Role::Lead { flight, .. } => flight,
            role => panic!("should lead: {role:?}"),
        }
    };
    let first = lead();
    flights.lock(HASH).supersede(HASH, &|_| true);
    let second = lead();
    flights.lock(HASH).land(&first);
    drop(first);
    let mut locked = flights.lock(HASH);
    let landed = locked.land(&second);
    assert_eq!(drops.load(Relaxed), 0, "the key of the first flight, which the table has kept");
    drop(locked);
    drop(landed);
    assert_eq!(drops.load(Relaxed), 1);
}
