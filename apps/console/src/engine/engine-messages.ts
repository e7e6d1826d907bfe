/** Messages between the page and its worker. */

import type { KeyAnswer } from './ask-filter.ts';
import type { FilterFacts } from './describe-filter.ts';

export type EngineQuestion =
  | { readonly id: number; readonly kind: 'open'; readonly file: File }
  | { readonly id: number; readonly kind: 'ask'; readonly key: string };

export type EngineAnswer =
  | { readonly kind: 'opened'; readonly facts: FilterFacts }
  | { readonly kind: 'asked'; readonly answer: KeyAnswer };

export type EngineReply =
  | { readonly id: number; readonly result: EngineAnswer }
  | { readonly id: number; readonly progress: number }
  | { readonly id: number; readonly problem: string };
