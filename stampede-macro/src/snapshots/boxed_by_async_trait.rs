// #[stampede_cached(ttl = 60, skip(self))]
// fn f<'life0, 'async_trait>(&'life0 self, id: u64) -> Pin<Box<dyn Future<Output = u8> + Send + 'async_trait>> where 'life0: 'async_trait, Self: 'async_trait { Box::pin(async move { let __self = self; let id = id; __self.load(id).await }) }

impl Service {
    fn f<'life0, 'async_trait>(
        &'life0 self,
        id: u64,
    ) -> Pin<Box<dyn Future<Output = u8> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let __wait = {
                let __begun = {
                    let __key = (
                        {
                            use ::stampede_runtime::__private::fits::*;
                            (&&::stampede_runtime::__private::Fit::<u64>(&id))
                                .stampede_part()
                        },
                    );
                    ::stampede_runtime::__private::begin(
                        &{
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
                                                .ttl(
                                                    ::stampede_runtime::__private::Duration::new(60u64, 0u32),
                                                ),
                                        )
                                        .method_of::<Self>()
                                },
                            )
                        },
                        ::stampede_runtime::__private::Option::None,
                        &__key,
                    )
                };
                match __begun {
                    ::stampede_runtime::__private::Begin::Ready(__answer) => {
                        return __answer;
                    }
                    ::stampede_runtime::__private::Begin::Load(__ticket) => {
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
                                    return ::stampede_runtime::__private::absent::<u8>();
                                }
                                #[cfg(all())]
                                {
                                    let __self = __self;
                                    let id = id;
                                    __self.load(id).await
                                }
                            }
                        })
                }
            };
            __wait.await
        })
    }
}
