//! Errors in the body point into the body, and the function is there all the same.

use stampede_runtime::stampede_cached;

#[stampede_cached(ttl = 60)]
async fn wrong_type(id: u32) -> u32 {
    "text"
}

#[stampede_cached(ttl = 60)]
async fn wrong_return(id: u32) -> Result<u32, String> {
    if id > 1 {
        return Err(5);
    }
    Ok(id)
}

#[stampede_cached(ttl = 60)]
async fn wrong_question_mark(id: u32) -> Result<u32, std::fmt::Error> {
    let number: u32 = "5".parse()?;
    Ok(number)
}

#[stampede_cached(ttl = 60)]
async fn unknown_name(id: u32) -> u32 {
    idd
}

#[stampede_cached(ttl = 60)]
async fn half_typed(id: u32) -> u32 {
    let x = id.
}

#[derive(Clone)]
struct Service;

impl Service {
    #[stampede_cached(ttl = 60, skip(self))]
    async fn method(&self, id: u32) -> u32 {
        self.missing(id)
    }
}

fn main() {
    // All of them can be called: their signatures are kept.
    drop((wrong_type(1), wrong_return(1), wrong_question_mark(1), unknown_name(1), half_typed(1), Service.method(1)));
}
