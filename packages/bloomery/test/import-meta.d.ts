/** What every runtime has, and `lib: ES2022` does not say. */
interface ImportMeta {
  readonly url: string;
}
