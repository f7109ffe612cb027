// #[stampede_cached(ttl = 60, run = "in_caller", skip(db), crate = other)]
// async fn f(db: &RefCell<u8>, id: u8) { g(db, id) }

async fn f(db: &RefCell<u8>, id: u8) {
    let __wait = {
        let __begun = {
            let __key = (
                {
                    use other::__private::fits::*;
                    (&&other::__private::Fit::<u8>(&id)).stampede_part()
                },
            );
            other::__private::begin(
                &__stampede_f_in_an_impl_add_companions_false(),
                other::__private::Option::None,
                &__key,
            )
        };
        match __begun {
            other::__private::Begin::Ready(__answer) => return __answer,
            other::__private::Begin::Load(__ticket) => __ticket.ride(),
        }
    };
    let __wait = match __wait.await {
        other::__private::Begin::Ready(__answer) => return __answer,
        other::__private::Begin::Load(__ticket) => {
            __ticket
                .run_in_caller(move || {
                    async move {
                        if false {
                            return other::__private::absent::<()>();
                        }
                        #[cfg(all())] { g(db, id) }
                    }
                })
        }
    };
    __wait.await
}
#[doc(hidden)]
#[allow(dead_code)]
fn __stampede_f_in_an_impl_add_companions_false() -> impl other::__private::Definition<
    Outcome = impl other::__private::Outcome<
        Return = (),
        Value = other::__private::Value<(), { other::__private::is_result!(()) }>,
    >,
> {
    {
        static __STAMPEDE_SITE: other::__private::Site = other::__private::Site::new(
            ::core::concat!(::core::module_path!(), "::", "f"),
        );
        other::__private::define(
            &__STAMPEDE_SITE,
            || {
                use other::__private::probe::*;
                other::__private::Config::new(
                    other::__private::how!(()),
                    other::__private::PolicyBuilder::new()
                        .ttl(other::__private::Duration::new(60u64, 0u32))
                        .run(other::__private::Run::InCaller),
                )
            },
        )
    }
}
/// The cache entry of [`f`] for these arguments.
#[allow(dead_code)]
fn f_entry(
    id: u8,
) -> other::Entry<
    'static,
    other::__private::Value<(), { other::__private::is_result!(()) }>,
> {
    let __entry = {
        let __key = (
            {
                use other::__private::fits::*;
                (&&other::__private::Fit::<u8>(&id)).stampede_part()
            },
        );
        other::__private::entry(
            &__stampede_f_in_an_impl_add_companions_false(),
            other::__private::Option::None,
            &__key,
        )
    };
    __entry
}
/// The cache behind [`f`].
#[allow(dead_code)]
fn f_cache() -> other::CacheHandle {
    other::__private::handle(
        &__stampede_f_in_an_impl_add_companions_false(),
        other::__private::Option::None,
        || {
            let id: u8 = other::__private::absent();
            {
                let __key = (
                    {
                        use other::__private::fits::*;
                        (&&other::__private::Fit::<u8>(&id)).stampede_part()
                    },
                );
                other::__private::witness(&__key)
            }
        },
    )
}
