#include "llm/routing/dimensions.h"

namespace chela::llm::routing {

// A phrase is made of whole words; a hyphen is a space. Endings are listed, not guessed.
const std::array<Dimension, kDimensions>& dimensions() {
  using enum Dimension::Measure;
  static constexpr std::array<Dimension, kDimensions> kAll{{
      {"reasoning_words", 14, 50, kNone,
       "why, how, explain, analyze, analyse, compare, contrast, evaluate, assess, reason, think, consider, "
       "implication, implications, consequence, consequences, trade off, trade offs, tradeoff, tradeoffs, "
       "pros and cons, advantage, advantages, disadvantage, disadvantages, benefit, benefits, drawback, "
       "drawbacks, differ, differs, difference, differences, versus, vs, better, worse, optimal, best, "
       "worst"},
      {"token_estimate", 12, 0, kLength},
      {"code_indicators", 10, 50, kCode,
       "function, const, let, var, import, export, class, def, async, await, npm, yarn, pnpm, cargo, pip, "
       "implement, rebase, merge, commit, branch, pr, pull request, column, columns, migration, migrations, "
       "module, refactor, debug, fix, bug, error, schema, database, query"},
      {"multi_step", 10, 50, kNone,
       "first, then, next, after, before, finally, step, steps, phase, phases, stage, stages, process, "
       "workflow, "
       "sequence, procedure, pipeline, chain, series, order, followed by"},
      {"domain_specific", 10, 50, kNone,
       "kubernetes, docker, container, containers, terraform, ansible, helm, nginx, systemd, linux, kernel, "
       "postgres, postgresql, mysql, sqlite, redis, mongodb, kafka, rabbitmq, elasticsearch, sql, index, "
       "shard, "
       "shards, replica, replicas, transaction, transactions, http, https, tcp, udp, dns, tls, ssl, grpc, "
       "graphql, "
       "rest, websocket, websockets, webhook, oauth, jwt, api, sdk, rust, python, typescript, javascript, "
       "golang, "
       "java, kotlin, swift, solidity, haskell, react, svelte, django, cmake, llvm, wasm, webassembly, aws, "
       "azure, "
       "gcp, lambda, s3, serverless, microservice, microservices, git, github, gitlab, ci, cd, prometheus, "
       "grafana, "
       "latency, throughput, concurrency, mutex, deadlock, consensus, raft, paxos, blockchain, ethereum, "
       "bitcoin, "
       "near, wallet, smart contract, smart contracts, token, tokens, nft, defi, staking, validator, "
       "validators, "
       "web3, mainnet, testnet, gpu, cuda, embedding, embeddings, transformer"},
      {"creativity", 7, 50, kNone,
       "write, create, generate, compose, design, imagine, brainstorm, draft, story, poem, essay, article, "
       "blog, "
       "summarize, summarise, rewrite, translate, tweet, outline, format, style, tone, haiku, lyrics, "
       "slogan, pitch, "
       "invent, storytelling, narrative"},
      {"question_complexity", 7, 25, kQuestionMarks,
       "why, how, what if, explain, describe, elaborate, discuss"},
      {"precision", 6, 50, kNumbers,
       "exactly, precisely, specific, accurate, correct, verify, confirm, date, time, number, calculate, "
       "compute, "
       "measure, count"},
      {"ambiguity", 5, 25, kNone, "it, this, that, something, stuff, thing, things"},
      {"context_dependency", 5, 50, kNone,
       "previous, previously, earlier, above, before, last, that, those, it, they, we discussed, you said, "
       "mentioned, "
       "remember, recall, as before, again, same as"},
      {"tool_likelihood", 5, 50, kNone,
       "file, read, write, search, fetch, run, execute, check, find, open, save, send, post, get, download, "
       "upload, "
       "install, deploy, build, compile, test, add, update, remove, delete, modify, change, edit, create, "
       "resolve, "
       "push, pull, clone"},
      {"sentence_complexity", 5, 12, kClauses,
       "and, but, or, so, because, although, though, while, since, whereas, however, if, unless, which"},
      {"safety_sensitivity", 4, 50, kNone,
       "password, passwords, secret, secrets, private, confidential, medical, legal, financial, personal, "
       "sensitive, "
       "ssn, credit card, auth, token, key, encrypt, decrypt, hash, vulnerability, vulnerabilities, exploit, "
       "attack, "
       "breach"},
  }};
  return kAll;
}

}  // namespace chela::llm::routing
