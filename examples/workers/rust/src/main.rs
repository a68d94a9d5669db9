//! A worker that factors numbers for Chela's agents. III_URL is the bus, CHELA_TOKEN a token that allows bus:register.

use std::collections::HashMap;
use std::env;

use iii_sdk::{register_worker, Error, InitOptions, RegisterFunction};
use serde_json::{json, Value};

fn factors(mut number: u64) -> Vec<u64> {
    let mut found = Vec::new();
    let mut divisor = 2;
    while divisor * divisor <= number {
        while number % divisor == 0 {
            found.push(divisor);
            number /= divisor;
        }
        divisor += 1;
    }
    if number > 1 {
        found.push(number);
    }
    found
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let url = env::var("III_URL").unwrap_or_else(|_| "ws://127.0.0.1:49134".to_string());
    let token = env::var("CHELA_TOKEN").unwrap_or_default();
    let headers = HashMap::from([("Authorization".to_string(), format!("Bearer {token}"))]);
    let worker = register_worker(&url, InitOptions { headers: Some(headers), ..Default::default() });

    worker.register_function(
        "tool::primes",
        RegisterFunction::new_async(|input: Value| async move {
            let number = input["number"].as_u64().ok_or_else(|| Error::Handler("number is missing".to_string()))?;
            Ok::<Value, Error>(json!({ "number": number, "factors": factors(number) }))
        })
        .description("Gives the prime factors of a whole number, smallest first.")
        .request_format(json!({
            "type": "object",
            "properties": { "number": { "type": "integer", "minimum": 2, "maximum": 1_000_000_000_000u64 } },
            "required": ["number"],
            "additionalProperties": false
        }))
        .metadata(json!({ "approval": "never" })),
    );

    tokio::signal::ctrl_c().await?;
    worker.shutdown();
    Ok(())
}
