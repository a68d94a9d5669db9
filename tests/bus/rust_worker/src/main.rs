//! One worker made with the crate: chela-test-worker URL NAME TOKEN. Speaks the lines of node_worker.mjs, as far as the ring needs them.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::{env, process};

use iii_sdk::protocol::TriggerRequest;
use iii_sdk::runtime::WorkerMetadata;
use iii_sdk::{register_worker, Error, IIIClient, InitOptions, RegisterFunction};
use serde_json::{json, Value};

#[derive(Clone)]
struct Worker {
    client: IIIClient,
    name: String,
}

impl Worker {
    async fn call(&self, request: &Value) -> Result<Value, Error> {
        let function_id = text(request, "function_id")?;
        let payload = request["payload"].clone();
        self.client.trigger(TriggerRequest { function_id, payload, action: None, timeout_ms: None }).await
    }

    async fn nested(&self, data: Value) -> Result<Value, Error> {
        let inner = self.call(&json!({ "function_id": data["next"], "payload": data["data"] })).await?;
        Ok(json!({ "from": self.name, "inner": inner }))
    }

    fn register(&self, request: &Value) -> Result<Value, Error> {
        let (worker, kind) = (self.clone(), text(request, "kind")?);
        let handler = move |data: Value| {
            let (worker, kind) = (worker.clone(), kind.clone());
            async move {
                match kind.as_str() {
                    "nested" => worker.nested(data).await,
                    _ => Ok(json!({ "from": worker.name, "data": data })),
                }
            }
        };
        self.client.register_function(text(request, "function_id")?, RegisterFunction::new_async(handler));
        Ok(Value::Null)
    }

    async fn answer(&self, line: &str) -> Value {
        let request: Value = serde_json::from_str(line).unwrap_or_default();
        let result = match request["do"].as_str() {
            Some("register") => self.register(&request),
            Some("call") => self.call(&request).await,
            other => Err(Error::Handler(format!("{other:?} is not known here"))),
        };
        match result {
            Ok(value) => json!({ "id": request["id"], "value": value }),
            Err(error) => {
                let code = error.invocation_error().map(|each| each.code);
                json!({ "id": request["id"], "error": { "message": error.to_string(), "code": code } })
            }
        }
    }
}

fn text(request: &Value, key: &str) -> Result<String, Error> {
    request[key].as_str().map(str::to_string).ok_or_else(|| Error::Handler(format!("{key} is missing")))
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let words: Vec<String> = env::args().collect();
    let [_, url, name, token] = words.as_slice() else {
        eprintln!("usage: chela-test-worker URL NAME TOKEN");
        process::exit(2);
    };
    let options = InitOptions {
        headers: Some(HashMap::from([("Authorization".to_string(), format!("Bearer {token}"))])),
        metadata: Some(WorkerMetadata { name: name.clone(), ..Default::default() }),
        ..Default::default()
    };
    let worker = Worker { client: register_worker(url, options), name: name.clone() };
    for line in io::stdin().lock().lines() {
        let (worker, line) = (worker.clone(), line?);
        tokio::spawn(async move { println!("{}", worker.answer(&line).await) });
    }
    process::exit(0);
}
