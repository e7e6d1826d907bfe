/**
 * The line that Node's `console.log` prints of a structure. The bits are in private fields, so Node
 * would print the parts of the hash instead. Every class has a method under this name, which gives
 * the line of `toString`. The symbol is in the registry of all symbols, so nothing is imported.
 */

/** The name of the method that Node's `console.log` calls. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom');
