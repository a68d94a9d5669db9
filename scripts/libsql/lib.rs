// Cargo wants a source file to exist; this package is never built.
