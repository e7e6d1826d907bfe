/**
 * English function words, which say nothing about the subject of a text. They are neither indexed
 * nor searched, and keep their place in phrases.
 *
 * The list was written for this project, by word class: articles, pronouns, prepositions,
 * conjunctions, auxiliary verbs, and adverbs without a subject of their own. Words that are also
 * names of things in programs and offices ("set", "file", "second", "last") are left searchable.
 */

const LISTS = [
  // Articles, determiners, quantifiers.
  'a an the this that these those each every either neither some any all both such same other others another',
  'many much more most few fewer less least several own only no none',
  // Pronouns, and what apostrophes leave of short forms.
  'i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself',
  'she her hers herself it its itself they them their theirs themselves one ones who whom whose which what',
  // The rule against unnamed actors reads texts, so these are put together.
  ...['who', 'what', 'which'].map((word) => `${word}ever`),
  ...['some', 'any', 'no', 'every'].map((word) => `${word}thing ${word}one ${word}body`),
  "i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'll we're we've we'd we'll",
  "they're they've they'd they'll that's there's here's what's who's let's",
  // Prepositions.
  'about above across after against along among amongst around as at before behind below beneath beside besides',
  'between beyond by despite down during except for from in inside into like near of off on onto out outside over',
  'per since than through throughout till to toward towards under underneath until unto up upon via with within without',
  // Conjunctions.
  'and but or nor so yet if unless because although though while whilst whereas whether lest once',
  // Auxiliary verbs.
  'be am is are was were been being have has had having do does did doing done can could may might must shall should',
  'will would ought cannot',
  "can't couldn't mustn't shouldn't won't wouldn't isn't aren't wasn't weren't haven't hasn't hadn't don't doesn't didn't",
  // Adverbs without a subject of their own.
  'not also again ever never always often sometimes now then here there where when why how however hence thus therefore',
  'too very just quite rather almost already still even perhaps maybe else instead indeed moreover furthermore',
  'otherwise meanwhile nevertheless nonetheless somewhat somehow anyhow anyway elsewhere everywhere nowhere whenever',
  'wherever etc ie eg',
];

const STOP_WORDS: ReadonlySet<string> = new Set(LISTS.flatMap((line) => line.split(' ')));

/** True for a word in lower case that is not indexed. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}
