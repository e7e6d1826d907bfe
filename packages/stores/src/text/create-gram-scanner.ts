/** The choice of the scanner: WebAssembly where it compiles, JavaScript elsewhere. */

import { type GramScanner, ScriptGramScanner } from './gram-scanner.ts';
import type { GramScheme } from './gram-scheme.ts';
import { linkGramModule, WasmGramScanner } from './gram-wasm.ts';

/** Makes a scanner. `kernel` is for tests and measurements. */
export function createGramScanner(
  scheme: GramScheme,
  kernel: 'auto' | 'wasm' | 'javascript' = 'auto',
): GramScanner {
  const module = kernel === 'javascript' ? null : linkGramModule();
  if (module !== null) return new WasmGramScanner(scheme, module);
  if (kernel === 'wasm') throw new Error('Cannot compile WebAssembly: a Content-Security-Policy forbids it');
  return new ScriptGramScanner(scheme);
}
