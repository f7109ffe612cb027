// #[stampede_cached(ttl = 60, key = id, skip(repo))]
// async fn load<D: Repo>(repo: Arc<D>, id: u64) -> String where D: Send { repo.load(id).await }

async fn load<D: Repo>(repo: Arc<D>, id: u64) -> String
where
    D: Send,
{
    let __wait = {
        let __begun = {
            let __key = (
                {
                    use ::stampede_runtime::__private::fits::*;
                    (&&::stampede_runtime::__private::Fit::<u64>(&id)).stampede_part()
                },
            );
            ::stampede_runtime::__private::begin(
                &{
                    static __STAMPEDE_SITE: ::stampede_runtime::__private::Site = ::stampede_runtime::__private::Site::new(
                        ::core::concat!(::core::module_path!(), "::", "load"),
                    );
                    ::stampede_runtime::__private::define(
                        &__STAMPEDE_SITE,
                        || {
                            use ::stampede_runtime::__private::probe::*;
                            ::stampede_runtime::__private::Config::new(
                                ::stampede_runtime::__private::how!(String),
                                ::stampede_runtime::__private::PolicyBuilder::new()
                                    .ttl(
                                        ::stampede_runtime::__private::Duration::new(60u64, 0u32),
                                    ),
                            )
                        },
                    )
                },
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
                        if false {
                            return ::stampede_runtime::__private::absent::<String>();
                        }
                        #[cfg(all())] { repo.load(id).await }
                    }
                })
        }
    };
    __wait.await
}
