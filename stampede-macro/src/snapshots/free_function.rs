// #[stampede_cached(ttl = 300, jitter = "10%", early = 60, skip(db))]
// pub async fn report(db: &Db, date: Date) -> Result<Report, Error> { db.query(date).await }

pub async fn report(db: &Db, date: Date) -> Result<Report, Error> {
    let __wait = {
        let __begun = {
            let __key = (
                {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<Date>(&date)).stampede_part()
                },
            );
            ::stampede_runtime::__private::begin(
                &__stampede_report_in_an_impl_add_companions_false(),
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
                    let db = {
                        use ::stampede_runtime::__private::owns::*;
                        (&&::stampede_runtime::__private::Lent(db)).stampede_own()
                    };
                    async move {
                        let db = ::stampede_runtime::__private::lend(&db);
                        if false {
                            return ::stampede_runtime::__private::absent::<
                                Result<Report, Error>,
                            >();
                        }
                        #[cfg(all())] { db.query(date).await }
                    }
                })
        }
    };
    __wait.await
}
#[doc(hidden)]
#[allow(dead_code)]
fn __stampede_report_in_an_impl_add_companions_false() -> impl ::stampede_runtime::__private::Definition<
    Outcome = impl ::stampede_runtime::__private::Outcome<
        Return = Result<Report, Error>,
        Value = ::stampede_runtime::__private::Value<
            Result<Report, Error>,
            { ::stampede_runtime::__private::is_result!(Result < Report, Error >) },
        >,
    >,
> {
    {
        static __STAMPEDE_SITE: ::stampede_runtime::__private::Site = ::stampede_runtime::__private::Site::new(
            ::core::concat!(::core::module_path!(), "::", "report"),
        );
        ::stampede_runtime::__private::define(
            &__STAMPEDE_SITE,
            || {
                use ::stampede_runtime::__private::probe::*;
                ::stampede_runtime::__private::Config::new(
                    ::stampede_runtime::__private::how!(Result < Report, Error >),
                    ::stampede_runtime::__private::PolicyBuilder::new()
                        .ttl(::stampede_runtime::__private::Duration::new(300u64, 0u32))
                        .jitter(::stampede_runtime::__private::percent(10f64))
                        .early(::stampede_runtime::__private::Duration::new(60u64, 0u32)),
                )
            },
        )
    }
}
/// The cache entry of [`report`] for these arguments.
#[allow(dead_code)]
pub fn report_entry(
    date: Date,
) -> ::stampede_runtime::Entry<
    'static,
    ::stampede_runtime::__private::Value<
        Result<Report, Error>,
        { ::stampede_runtime::__private::is_result!(Result < Report, Error >) },
    >,
> {
    let __entry = {
        let __key = (
            {
                use ::stampede_runtime::__private::fits::*;
                (&&::stampede_runtime::__private::Fit::<Date>(&date)).stampede_part()
            },
        );
        ::stampede_runtime::__private::entry(
            &__stampede_report_in_an_impl_add_companions_false(),
            ::stampede_runtime::__private::Option::None,
            &__key,
        )
    };
    __entry
}
/// The cache behind [`report`].
#[allow(dead_code)]
pub fn report_cache() -> ::stampede_runtime::CacheHandle {
    ::stampede_runtime::__private::handle(
        &__stampede_report_in_an_impl_add_companions_false(),
        ::stampede_runtime::__private::Option::None,
        || {
            let date: Date = ::stampede_runtime::__private::absent();
            {
                let __key = (
                    {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<Date>(&date))
                            .stampede_part()
                    },
                );
                ::stampede_runtime::__private::witness(&__key)
            }
        },
    )
}
