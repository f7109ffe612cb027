// #[stampede_cached(ttl = 60, each = ids, skip(db))]
// pub async fn users(db: &Db, lang: Lang, ids: &[Id]) -> Result<HashMap<Id, User>, Error> { db.users(lang, ids).await }

pub async fn users(db: &Db, lang: Lang, ids: &[Id]) -> Result<HashMap<Id, User>, Error> {
    let __wait = {
        let __begun = ::stampede_runtime::__private::begin_each(
            &__stampede_users_in_an_impl_add_companions_false(),
            {
                use ::stampede_runtime::__private::kinds::*;
                (&&&&&::stampede_runtime::__private::Batch::<
                    Result<HashMap<Id, User>, Error>,
                    Id,
                >::new())
                    .stampede_kind()
            },
            ::stampede_runtime::__private::Option::None,
            ids,
            |__id| (
                {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<Lang>(&lang)).stampede_part()
                },
                {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<Id>(&(*__id)))
                        .stampede_part()
                },
            ),
        );
        match __begun {
            ::stampede_runtime::__private::Begin::Ready(__answer) => return __answer,
            ::stampede_runtime::__private::Begin::Load(__ticket) => {
                __ticket
                    .run(move |__ids| {
                        let db = {
                            use ::stampede_runtime::__private::owns::*;
                            (&&::stampede_runtime::__private::Lent(db)).stampede_own()
                        };
                        let lang = ::stampede_runtime::__private::again(&lang);
                        async move {
                            let db = ::stampede_runtime::__private::lend(&db);
                            let ids = &*__ids;
                            if false {
                                return ::stampede_runtime::__private::absent::<
                                    Result<HashMap<Id, User>, Error>,
                                >();
                            }
                            #[cfg(all())] { db.users(lang, ids).await }
                        }
                    })
            }
        }
    };
    __wait.await
}
#[doc(hidden)]
#[allow(dead_code)]
fn __stampede_users_in_an_impl_add_companions_false() -> impl ::stampede_runtime::__private::Definition<
    Outcome = impl ::stampede_runtime::__private::Outcome<
        Return = ::stampede_runtime::__private::EachReturn<
            Result<HashMap<Id, User>, Error>,
            {
                ::stampede_runtime::__private::is_result!(
                    Result < HashMap < Id, User >, Error >
                )
            },
        >,
        Value = ::stampede_runtime::__private::EachValue<
            Result<HashMap<Id, User>, Error>,
            {
                ::stampede_runtime::__private::is_result!(
                    Result < HashMap < Id, User >, Error >
                )
            },
        >,
        Error = ::stampede_runtime::__private::EachError<
            Result<HashMap<Id, User>, Error>,
            {
                ::stampede_runtime::__private::is_result!(
                    Result < HashMap < Id, User >, Error >
                )
            },
        >,
    >,
> {
    {
        static __STAMPEDE_SITE: ::stampede_runtime::__private::Site = ::stampede_runtime::__private::Site::new(
            ::core::concat!(::core::module_path!(), "::", "users"),
        );
        ::stampede_runtime::__private::define(
            &__STAMPEDE_SITE,
            || {
                use ::stampede_runtime::__private::probe::*;
                ::stampede_runtime::__private::Config::new(
                    ::stampede_runtime::__private::how_each!(
                        Result < HashMap < Id, User >, Error >
                    ),
                    ::stampede_runtime::__private::PolicyBuilder::new()
                        .ttl(::stampede_runtime::__private::Duration::new(60u64, 0u32)),
                )
            },
        )
    }
}
/// The cache entry of [`users`] for these arguments.
#[allow(dead_code)]
pub fn users_entry(
    lang: Lang,
    id: Id,
) -> ::stampede_runtime::Entry<
    'static,
    ::stampede_runtime::__private::EachValue<
        Result<HashMap<Id, User>, Error>,
        {
            ::stampede_runtime::__private::is_result!(
                Result < HashMap < Id, User >, Error >
            )
        },
    >,
> {
    let __entry = {
        let __key = (
            {
                use ::stampede_runtime::__private::fits::*;
                (&&::stampede_runtime::__private::Fit::<Lang>(&lang)).stampede_part()
            },
            {
                use ::stampede_runtime::__private::fits::*;
                (&&::stampede_runtime::__private::Fit::<Id>(&id)).stampede_part()
            },
        );
        ::stampede_runtime::__private::entry(
            &__stampede_users_in_an_impl_add_companions_false(),
            ::stampede_runtime::__private::Option::None,
            &__key,
        )
    };
    __entry
}
/// The cache behind [`users`].
#[allow(dead_code)]
pub fn users_cache() -> ::stampede_runtime::CacheHandle {
    ::stampede_runtime::__private::handle(
        &__stampede_users_in_an_impl_add_companions_false(),
        ::stampede_runtime::__private::Option::None,
        || {
            let lang: Lang = ::stampede_runtime::__private::absent();
            let id: Id = ::stampede_runtime::__private::absent();
            {
                let __key = (
                    {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<Lang>(&lang))
                            .stampede_part()
                    },
                    {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<Id>(&id)).stampede_part()
                    },
                );
                ::stampede_runtime::__private::witness(&__key)
            }
        },
    )
}
