// #[stampede_cached(ttl = 60)]
// #[must_use] #[tracing::instrument(skip_all)] async fn f(id: u8) -> u8 { id }

#[must_use]
async fn f(id: u8) -> u8 {
    let __wait = {
        let __begun = {
            let __key = (
                {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<u8>(&id)).stampede_part()
                },
            );
            ::stampede_runtime::__private::begin(
                &__stampede_f_in_an_impl_add_companions_false(),
                ::stampede_runtime::__private::Option::None,
                &__key,
            )
        };
        match __begun {
            ::stampede_runtime::__private::Begin::Ready(__answer) => return __answer,
            ::stampede_runtime::__private::Begin::Load(__ticket) => __ticket.ride(),
        }
    };
    let __wait = match __wait.await {
        ::stampede_runtime::__private::Begin::Ready(__answer) => return __answer,
        ::stampede_runtime::__private::Begin::Load(__ticket) => {
            __ticket
                .run(move || {
                    async move {
                        #[tracing::instrument(name = "f", skip_all)]
                        async fn __stampede_load_f(id: u8) -> u8 {
                            id
                        }
                        __stampede_load_f(id).await
                    }
                })
        }
    };
    __wait.await
}
#[doc(hidden)]
#[allow(dead_code)]
fn __stampede_f_in_an_impl_add_companions_false() -> impl ::stampede_runtime::__private::Definition<
    Outcome = impl ::stampede_runtime::__private::Outcome<
        Return = u8,
        Value = ::stampede_runtime::__private::Value<
            u8,
            { ::stampede_runtime::__private::is_result!(u8) },
        >,
    >,
> {
    {
        static __STAMPEDE_SITE: ::stampede_runtime::__private::Site = ::stampede_runtime::__private::Site::new(
            ::core::concat!(::core::module_path!(), "::", "f"),
        );
        ::stampede_runtime::__private::define(
            &__STAMPEDE_SITE,
            || {
                use ::stampede_runtime::__private::probe::*;
                ::stampede_runtime::__private::Config::new(
                    ::stampede_runtime::__private::how!(u8),
                    ::stampede_runtime::__private::PolicyBuilder::new()
                        .ttl(::stampede_runtime::__private::Duration::new(60u64, 0u32)),
                )
            },
        )
    }
}
/// The cache entry of [`f`] for these arguments.
#[allow(dead_code)]
fn f_entry(
    id: u8,
) -> ::stampede_runtime::Entry<
    'static,
    ::stampede_runtime::__private::Value<
        u8,
        { ::stampede_runtime::__private::is_result!(u8) },
    >,
> {
    let __entry = {
        let __key = (
            {
                use ::stampede_runtime::__private::fits::*;
                (&&::stampede_runtime::__private::Fit::<u8>(&id)).stampede_part()
            },
        );
        ::stampede_runtime::__private::entry(
            &__stampede_f_in_an_impl_add_companions_false(),
            ::stampede_runtime::__private::Option::None,
            &__key,
        )
    };
    __entry
}
/// The cache behind [`f`].
#[allow(dead_code)]
fn f_cache() -> ::stampede_runtime::CacheHandle {
    ::stampede_runtime::__private::handle(
        &__stampede_f_in_an_impl_add_companions_false(),
        ::stampede_runtime::__private::Option::None,
        || {
            let id: u8 = ::stampede_runtime::__private::absent();
            {
                let __key = (
                    {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<u8>(&id)).stampede_part()
                    },
                );
                ::stampede_runtime::__private::witness(&__key)
            }
        },
    )
}
