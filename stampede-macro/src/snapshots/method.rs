// #[stampede_cached(ttl = "1m", key = (self.base, id), tags = [format!("{id}")])]
// async fn show(&self, id: u64) -> String { format!("{self:?} {}", self.name(id)) }

impl Service {
    async fn show(&self, id: u64) -> String {
        let __wait = {
            let __begun = match (&(self.base),) {
                (__part0,) => {
                    let __key = (
                        {
                            use ::stampede_runtime::__private::peels::*;
                            (&&&&::stampede_runtime::__private::Peeled(&*__part0))
                                .stampede_part()
                        },
                        {
                            use ::stampede_runtime::__private::fits::*;
                            (&&::stampede_runtime::__private::Fit::<u64>(&id))
                                .stampede_part()
                        },
                    );
                    ::stampede_runtime::__private::begin(
                        &Self::__stampede_show_in_a_trait_impl_add_companions_false(),
                        ::stampede_runtime::__private::Option::None,
                        &__key,
                    )
                }
            };
            match __begun {
                ::stampede_runtime::__private::Begin::Ready(__answer) => return __answer,
                ::stampede_runtime::__private::Begin::Load(__ticket) => {
                    let __ticket = __ticket.tags(|| [format!("{id}")]);
                    __ticket.ride()
                }
            }
        };
        let __wait = match __wait.await {
            ::stampede_runtime::__private::Begin::Ready(__answer) => return __answer,
            ::stampede_runtime::__private::Begin::Load(__ticket) => {
                __ticket
                    .run(move || {
                        let __self = ::stampede_runtime::__private::own_self(self);
                        async move {
                            let __self = &__self;
                            if false {
                                return ::stampede_runtime::__private::absent::<String>();
                            }
                            #[cfg(all())] { format!("{__self:?} {}", __self.name(id)) }
                        }
                    })
            }
        };
        __wait.await
    }
    #[doc(hidden)]
    #[allow(dead_code)]
    fn __stampede_show_in_a_trait_impl_add_companions_false() -> impl ::stampede_runtime::__private::Definition<
        Outcome = impl ::stampede_runtime::__private::Outcome<
            Return = String,
            Value = ::stampede_runtime::__private::Value<
                String,
                { ::stampede_runtime::__private::is_result!(String) },
            >,
        >,
    > {
        {
            static __STAMPEDE_SITE: ::stampede_runtime::__private::Site = ::stampede_runtime::__private::Site::new(
                ::core::concat!(::core::module_path!(), "::", "show"),
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
                        .method_of::<Self>()
                },
            )
        }
    }
    /// The cache entry of [`Self::show`] for these arguments.
    #[allow(dead_code)]
    fn show_entry(
        &self,
        id: u64,
    ) -> ::stampede_runtime::Entry<
        'static,
        ::stampede_runtime::__private::Value<
            String,
            { ::stampede_runtime::__private::is_result!(String) },
        >,
    > {
        let __entry = match (&(self.base),) {
            (__part0,) => {
                let __key = (
                    {
                        use ::stampede_runtime::__private::peels::*;
                        (&&&&::stampede_runtime::__private::Peeled(&*__part0))
                            .stampede_part()
                    },
                    {
                        use ::stampede_runtime::__private::fits::*;
                        (&&::stampede_runtime::__private::Fit::<u64>(&id))
                            .stampede_part()
                    },
                );
                ::stampede_runtime::__private::entry(
                    &Self::__stampede_show_in_a_trait_impl_add_companions_false(),
                    ::stampede_runtime::__private::Option::None,
                    &__key,
                )
            }
        };
        let __entry = ::stampede_runtime::__private::tagged(__entry, [format!("{id}")]);
        __entry
    }
    /// The cache behind [`Self::show`].
    #[allow(dead_code)]
    fn show_cache(&self) -> ::stampede_runtime::CacheHandle {
        ::stampede_runtime::__private::handle(
            &Self::__stampede_show_in_a_trait_impl_add_companions_false(),
            ::stampede_runtime::__private::Option::None,
            || {
                let id: u64 = ::stampede_runtime::__private::absent();
                match (&(self.base),) {
                    (__part0,) => {
                        let __key = (
                            {
                                use ::stampede_runtime::__private::peels::*;
                                (&&&&::stampede_runtime::__private::Peeled(&*__part0))
                                    .stampede_part()
                            },
                            {
                                use ::stampede_runtime::__private::fits::*;
                                (&&::stampede_runtime::__private::Fit::<u64>(&id))
                                    .stampede_part()
                            },
                        );
                        ::stampede_runtime::__private::witness(&__key)
                    }
                }
            },
        )
    }
}
