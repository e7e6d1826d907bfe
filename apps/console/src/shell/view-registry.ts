/**
 * Views are files of their own, loaded when they are first shown, so that the first view does not
 * wait for the others. Module scripts do not load from file:, so each is a classic script that
 * registers itself under its name in one global object. The shell puts Preact there, so that every
 * view uses the same copy (build.mjs).
 */

import type { ComponentType } from 'preact';

export interface ViewProps {
  /** The parameters of the address, when the view is shown. */
  readonly parameters: URLSearchParams;
  /** Writes the state into the address, without an entry of its own in the browser's history. */
  readonly keep: (parameters: URLSearchParams) => void;
}

interface Registry {
  readonly views: Map<string, ComponentType<ViewProps>>;
  /** Parts that are no views: the library for workers, the text of the papers, a token. */
  readonly parts: Map<string, unknown>;
  readonly modules: Record<string, unknown>;
  /** Both are the frame's: a page has one policy for the addresses of scripts. */
  readonly loadFile: (name: string) => Promise<void>;
  readonly scriptAddress: (address: string) => string;
}

declare global {
  var bloomeryConsole: Registry;
}

export function registerView(name: string, view: ComponentType<ViewProps>): void {
  globalThis.bloomeryConsole.views.set(name, view);
}
