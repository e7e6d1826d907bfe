/** Properties that every runtime has, and `lib: ES2022` does not declare. */
interface ImportMeta {
  readonly url: string;
}
