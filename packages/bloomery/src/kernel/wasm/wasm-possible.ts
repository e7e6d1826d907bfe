/**
 * Whether the WebAssembly kernel is part of the program. A bundler that defines `__BLOOMERY_WASM__`
 * as false leaves the kernel and its supporting code out of the bundle, because it then drops
 * conditions that begin with `WASM_POSSIBLE`. The constant is in a file without imports, because
 * esbuild inlines constants across files only from such files.
 */
declare const __BLOOMERY_WASM__: boolean | undefined;

export const WASM_POSSIBLE: boolean = typeof __BLOOMERY_WASM__ === 'undefined' || __BLOOMERY_WASM__;
