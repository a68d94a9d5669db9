#include "infer/cues.h"

#include "base/strings.h"

namespace chela::infer {
namespace {

Regex words(std::string_view pattern) { return Regex::literal(pattern, Regex::Case::kInsensitive); }

}  // namespace

CueFinder::CueFinder()
    : back_(words(
          R"(\b(my|mine|it|its|that|this|they|them|he|him|his|she|her|those|these|again|more|another|else|continue|go on|why|same|previous|earlier|before|above|first one|second one|you said|i said|we|yes|no|sure)\b|^\W*and\b)")),
      model_(words(R"(\b(you|your|yourself)\b|^\W*help\W*$)")),
      store_(words(
          R"(\b(remember (that|this|my|the|i|i'm|we|our|it)\b|remember:|^(please )?remember\b|[,.;] *(please )?remember\b|please remember\b|note (that|this|down|for)\b|note:|)"
          R"(keep in mind|(don'?t|do not) forget|memori[sz]e\b|(make|take) a note|for (later|the record)\b|(save|add|write|put|store)\b.*\b(to|in|into) (your |my |the )?(memory|notes|daily log|journal)\b|)"
          R"(learn that|(jot|write) (this|that|it)?\s*down|jot down|write down that|you should know|remind (me|yourself) (that|of)\b))")),
      ask_to_store_(words(
          R"(^\W*(hey|hi|ok|please|so)?\W*(can|could|would|will) you (please )?(remember (that|this|my|the|i)|note|keep in mind|write|save|store|memori[sz]e|jot))")),
      do_you_(words(R"(\b(do|did|can|could|don'?t) you (still |perhaps )?(remember|recall|know)\b)")),
      question_(words(
          R"(^\W*(hey|so|and|ok|please)?\W*(when|what|where|who|whose|which|how|why|do|did|does|is|are|was|were|am|can|could|have|has|any|tell me|whats|wheres|whens|whos)\b|\?\s*$|\b(what was it|i forgot)\b)")),
      personal_(words(
          R"(\b(my|mine|i|i'm|i've|me|we|our|ours|us|remember|memory|told you|mentioned|your notes)\b)")),
      memory_(words(R"(\b(memory|memories|remember(ed)?|your notes|daily log|journal)\b)")),
      daily_(words(R"(\b(daily (log|notes?)|journal|(log|notes?) (for|of) today|today'?s (log|notes?))\b)")),
      all_memory_(words(
          R"(\b(everything|all)\b.*\b(remember|memory|told you|know about me|asked you to)|\b(what|all) (do )?you (know|remember)( about me)?\W*$|know about me\W*$|(your|my|the) (whole|entire|complete|long-term) memory)")),
      day_(words(
          R"(\b(time|date|day is|day of the week|weekday|o'?clock|how late|what year|year is|which month|month|today'?s date|timestamp|days? (are )?(there )?(until|till|between|since)|hours? (until|till|between|since)|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b)")),
      file_(words(R"(\bfiles?\b)")),
      folder_(words(R"(\b(files|folders?|director(y|ies)|subfolders?|workspace|ls|dir)\b)")),
      write_(words(
          R"(^\W*((please|hey|ok|now|can you|could you|would you|i need|i want|i'd like)\W+)*(to )?(write|create|save|put|make|store|overwrite|append|add|generate)\b|\b(need|want|like|have)\b.*\b(saved|written|stored) (in|into|to|as)\b)")),
      read_(words(
          R"(^\W*((please|hey|ok|now|can you|could you|would you|i want to|i'd like to|let me)\W+)*(read|open|show|cat|print|display|view|load|see|look|have a look|give me|summari[sz]e)\b|\bwhat('s| is| does)\b|\b(says?|contents? of)\b)")),
      json_(words(R"(\bjson\b)")),
      run_(words(
          R"(^\W*(?:(?:please|can you|could you|now)\W+)*(?:run|execute)\s+(?:the\s+)?(?:(?:shell\s+)?command\s*:?\s+)?(.+?)(?:\s+(?:in|on|with|using)\s+(?:the|a|my)\s+(?:shell|terminal|console|command line))?[\s.!?]*$)")),
      echo_(words(
          R"(^\W*(?:please\s+)?(?:echo(?: back)?|repeat (?:after me|exactly|this|the following)(?: word for word)?|say (?:exactly|the words?|this)|use the echo tool(?: (?:to say|with|on))?)\b\s*[:,]?\s*(.+?)\s*$)")) {
}

Cues CueFinder::find(std::string_view text) const {
  Cues cues;
  cues.question = question_.found_in(text);
  const bool asks_to_store = ask_to_store_.found_in(text);
  cues.store = store_.found_in(text) && !(do_you_.found_in(text) && !asks_to_store) &&
               (asks_to_store || !(cues.question && strings::trim(text).ends_with('?') &&
                                   !text.contains(", don't") && !text.contains(", remember")));
  cues.personal = personal_.found_in(text);
  cues.refers_back = back_.found_in(text);
  cues.model = model_.found_in(text);
  cues.memory = memory_.found_in(text);
  cues.daily = daily_.found_in(text);
  cues.all_memory = all_memory_.found_in(text);
  cues.day = day_.found_in(text);
  cues.path = find_path(text);
  cues.file = cues.path || file_.found_in(text);
  cues.folder = folder_.found_in(text);
  cues.write_verb = write_.found_in(text);
  cues.read_verb = read_.found_in(text) && !cues.write_verb;
  cues.json = json_.found_in(text) || text.contains("{\"");
  if (const auto match = run_.match(text)) cues.run = std::string(value_of((*match)[1]));
  if (const auto match = echo_.match(text)) cues.echo = std::string(value_of((*match)[1]));
  cues.arithmetic = find_arithmetic(text);
  return cues;
}

}  // namespace chela::infer
