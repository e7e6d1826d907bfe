/**
 * A bundler that defines `__BLOOMERY_WASM__` as false leaves the WebAssembly kernel, and all that serves it, out of
 * the bundle: conditions that begin with `WASM_POSSIBLE` are dropped then. In a file without imports, because
 * esbuild inlines constants across files only from there.
 */
declare const __BLOOMERY_WASM__: boolean | undefined;

export const WASM_POSSIBLE: boolean = typeof __BLOOMERY_WASM__ === 'undefined' || __BLOOMERY_WASM__;
