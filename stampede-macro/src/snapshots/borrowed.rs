// #[stampede_cached(ttl = 60)]
// async fn find<'a>(name: &'a str, tag: Option<&str>, (a, b): (u8, &[u8]), mut n: u32) -> u32 { n += a; g(name, tag, b, n) }

async fn find<'a>(name: &'a str, tag: Option<&str>, arg2: (u8, &[u8]), n: u32) -> u32 {
    let __wait = {
        let __begun = {
            let __key = (
                {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<str>(&(*name)))
                        .stampede_part()
                },
                ::stampede_runtime::__private::Option::map(
                    ::stampede_runtime::__private::Option::as_ref(&tag),
                    |__value| {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<str>(&(*(*__value))))
                            .stampede_part()
                    },
                ),
                (
                    {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<u8>(&arg2.0))
                            .stampede_part()
                    },
                    {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<[u8]>(&(*arg2.1)))
                            .stampede_part()
                    },
                ),
                {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<u32>(&n)).stampede_part()
                },
            );
            ::stampede_runtime::__private::begin(
                &__stampede_find_in_an_impl_add_companions_false(),
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
                    let name = {
                        use ::stampede_runtime::__private::owns::*;
                        (&&::stampede_runtime::__private::Lent(name)).stampede_own()
                    };
                    let tag = ::stampede_runtime::__private::Option::map(
                        tag,
                        |__value| {
                            use ::stampede_runtime::__private::owns::*;
                            (&&::stampede_runtime::__private::Lent(__value))
                                .stampede_own()
                        },
                    );
                    let arg2 = match arg2 {
                        (__element0, __element1) => {
                            (
                                __element0,
                                {
                                    use ::stampede_runtime::__private::owns::*;
                                    (&&::stampede_runtime::__private::Lent(__element1))
                                        .stampede_own()
                                },
                            )
                        }
                    };
                    async move {
                        let name = ::stampede_runtime::__private::lend(&name);
                        let tag = ::stampede_runtime::__private::Option::map(
                            ::stampede_runtime::__private::Option::as_ref(&tag),
                            |__value| ::stampede_runtime::__private::lend(&(*__value)),
                        );
                        let (a, b) = (
                            arg2.0,
                            ::stampede_runtime::__private::lend(&arg2.1),
                        );
                        let mut n = n;
                        if false {
                            return ::stampede_runtime::__private::absent::<u32>();
                        }
                        #[cfg(all())]
                        {
                            n += a;
                            g(name, tag, b, n)
                        }
                    }
                })
        }
    };
    __wait.await
}
#[doc(hidden)]
#[allow(dead_code)]
fn __stampede_find_in_an_impl_add_companions_false() -> impl ::stampede_runtime::__private::Definition<
    Outcome = impl ::stampede_runtime::__private::Outcome<
        Return = u32,
        Value = ::stampede_runtime::__private::Value<
            u32,
            { ::stampede_runtime::__private::is_result!(u32) },
        >,
    >,
> {
    {
        static __STAMPEDE_SITE: ::stampede_runtime::__private::Site = ::stampede_runtime::__private::Site::new(
            ::core::concat!(::core::module_path!(), "::", "find"),
        );
        ::stampede_runtime::__private::define(
            &__STAMPEDE_SITE,
            || {
                use ::stampede_runtime::__private::probe::*;
                ::stampede_runtime::__private::Config::new(
                    ::stampede_runtime::__private::how!(u32),
                    ::stampede_runtime::__private::PolicyBuilder::new()
                        .ttl(::stampede_runtime::__private::Duration::new(60u64, 0u32)),
                )
            },
        )
    }
}
/// The cache entry of [`find`] for these arguments.
#[allow(dead_code)]
fn find_entry(
    name: &str,
    tag: Option<&str>,
    arg2: (u8, &[u8]),
    n: u32,
) -> ::stampede_runtime::Entry<
    'static,
    ::stampede_runtime::__private::Value<
        u32,
        { ::stampede_runtime::__private::is_result!(u32) },
    >,
> {
    let __entry = {
        let __key = (
            {
                use ::stampede_runtime::__private::fits::*;
                (&&::stampede_runtime::__private::Fit::<str>(&(*name))).stampede_part()
            },
            ::stampede_runtime::__private::Option::map(
                ::stampede_runtime::__private::Option::as_ref(&tag),
                |__value| {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<str>(&(*(*__value))))
                        .stampede_part()
                },
            ),
            (
                {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<u8>(&arg2.0)).stampede_part()
                },
                {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<[u8]>(&(*arg2.1)))
                        .stampede_part()
                },
            ),
            {
                use ::stampede_runtime::__private::fits::*;
                (&&::stampede_runtime::__private::Fit::<u32>(&n)).stampede_part()
            },
        );
        ::stampede_runtime::__private::entry(
            &__stampede_find_in_an_impl_add_companions_false(),
            ::stampede_runtime::__private::Option::None,
            &__key,
        )
    };
    __entry
}
/// The cache behind [`find`].
#[allow(dead_code)]
fn find_cache() -> ::stampede_runtime::CacheHandle {
    ::stampede_runtime::__private::handle(
        &__stampede_find_in_an_impl_add_companions_false(),
        ::stampede_runtime::__private::Option::None,
        || {
            let name: &str = ::stampede_runtime::__private::absent();
            let tag: Option<&str> = ::stampede_runtime::__private::absent();
            let arg2: (u8, &[u8]) = ::stampede_runtime::__private::absent();
            let n: u32 = ::stampede_runtime::__private::absent();
            {
                let __key = (
                    {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<str>(&(*name)))
                            .stampede_part()
                    },
                    ::stampede_runtime::__private::Option::map(
                        ::stampede_runtime::__private::Option::as_ref(&tag),
                        |__value| {
                            use ::stampede_runtime::__private::fits::*;
                            (&&::stampede_runtime::__private::Fit::<str>(&(*(*__value))))
                                .stampede_part()
                        },
                    ),
                    (
                        {
                            use ::stampede_runtime::__private::fits::*;
                            (&&::stampede_runtime::__private::Fit::<u8>(&arg2.0))
                                .stampede_part()
                        },
                        {
                            use ::stampede_runtime::__private::fits::*;
                            (&&::stampede_runtime::__private::Fit::<[u8]>(&(*arg2.1)))
                                .stampede_part()
                        },
                    ),
                    {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<u32>(&n)).stampede_part()
                    },
                );
                ::stampede_runtime::__private::witness(&__key)
            }
        },
    )
}
