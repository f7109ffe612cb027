//! `insert` and `invalidate_if`, as people use them together with tags and with the cache itself.

use stampede_runtime::{Freshness, entry_of, stampede_cached};

#[tokio::test]
async fn a_planted_value_carries_the_tags_of_the_attribute() {
    #[stampede_cached(ttl = 60, tags = [format!("t{id}"), String::from("all")])]
    async fn page(id: u32) -> u32 {
        id
    }

    page_entry(1).insert(99).await;
    page_entry(2).insert(98).await;
    page_cache().invalidate_tag("t1").await;
    assert_eq!((page(1).await, page(2).await), (1, 98));
    page_cache().invalidate_tag("all").await;
    assert_eq!(page(2).await, 2);
}

/// Where the tags can't be known, those of the entry that is replaced stay.
#[tokio::test]
async fn a_value_that_is_planted_over_another_keeps_its_tags() {
    #[stampede_cached(ttl = 60, tags = [format!("t{tenant}")], skip(tenant))]
    async fn page(tenant: u32, id: u32) -> u32 {
        tenant + id
    }

    page(10, 1).await;
    page_entry(1).insert(99).await;
    entry_of::<u32>(page(10, 1)).unwrap().insert(100).await;
    assert_eq!(page(10, 1).await, 100);
    page_cache().invalidate_tag("t10").await;
    assert_eq!(page_entry(1).state(), None);
}

/// The condition is the user's code: it may change the cache that it is asked about.
#[tokio::test]
async fn a_condition_may_use_the_cache() {
    #[stampede_cached(ttl = 60)]
    async fn page(id: u32) -> u32 {
        id
    }

    for id in 0..50 {
        page(id).await;
    }
    let all_others = |_: &u32| {
        for id in 1..50 {
            drop(page_entry(id).invalidate());
        }
        drop(page_cache().expire());
        true
    };
    page_entry(0).invalidate_if(all_others).await;
    assert_eq!(page_cache().len(), 0);
    page(0).await;
    page_entry(0).invalidate_if(|value| *value == 7).await;
    assert_eq!(page_entry(0).state(), Some(Freshness::Fresh));
}
