/**
 * The refusal of `structuredClone`, and of `postMessage`, which calls it.
 *
 * Cloning copies the properties of a structure and drops its class and its private fields, which
 * hold the bits, without a word. It calls no method of the structure, and a getter that throws
 * would break `{ ...filter }` and comparisons. But it throws at a property that is a symbol, and V8
 * puts the symbol's text into the message. Node and Chromium say "Symbol(use filter.encode()) could
 * not be cloned"; other browsers throw without the text. Structures have a `HashScheme`, whose
 * first property this is. Foreign filters have the property themselves. JSON leaves symbols out.
 */

/** The value of a property at which `structuredClone` throws. */
export const UNCLONEABLE: unique symbol = Symbol('use filter.encode()');
