"""What can go wrong with a model, as replies of the scripted one."""

TEXT = "one two three four five six seven eight"

# Faults before any text: (reply of the model, HTTP status on /v1, code there, code on the chat API).
BEFORE_TEXT = {
    "no headers": ({"answered": False}, 504, "timeout", "timeout"),
    "silence": ({"text": TEXT, "stall_after": 0}, 504, "timeout", "timeout"),
    "cut": ({"text": TEXT, "cut_after": 0}, 502, "upstream", "upstream"),
    "garbage": ({"text": TEXT, "garbage_after": 0}, 502, "upstream", "upstream"),
    "empty body": ({"body": ""}, 502, "upstream", "upstream"),
    "a web page": ({"body": "<html>welcome</html>", "content_type": "text/html"}, 502, "upstream", "upstream"),
    "other JSON": ({"body": '{"hello": "world"}', "content_type": "application/json"}, 502, "upstream", "upstream"),
    "half a JSON": ({"body": '{"choices": [{"mess', "content_type": "application/json"}, 502, "upstream", "upstream"),
    "an error as an event": ({"events": [{"error": {"message": "overloaded", "type": "server_error"}}]}, 502, "upstream", "upstream"),
    "400": ({"status": 400, "error": {"message": "bad temperature"}}, 400, "invalid_argument", "invalid_argument"),
    "400 too long": ({"status": 400, "error": {"message": "x", "code": "context_length_exceeded"}}, 400, "context_length_exceeded", "invalid_argument"),
    "401": ({"status": 401}, 502, "upstream_auth", "unauthenticated"),
    "403": ({"status": 403}, 502, "upstream_auth", "permission_denied"),
    "404": ({"status": 404}, 404, "model_not_found", "not_found"),
    "429": ({"status": 429, "retry_after": "90"}, 429, "rate_limit", "rate_limited"),
    "500": ({"status": 500}, 502, "upstream", "upstream"),
    "503 with a page": ({"status": 503, "body": "<html>sorry</html>", "content_type": "text/html"}, 502, "upstream", "upstream"),
    "a redirect": ({"status": 302, "headers": {"Location": "http://127.0.0.1:9/"}}, 502, "upstream", "upstream"),
}

# Faults after some text: the code of the failure.
AFTER_TEXT = {
    "silence": ({"text": TEXT, "stall_after": 4}, "timeout"),
    "cut": ({"text": TEXT, "cut_after": 4}, "upstream"),
    "garbage": ({"text": TEXT, "garbage_after": 4}, "upstream"),
}
