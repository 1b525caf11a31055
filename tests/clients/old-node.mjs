// The conformance suite imports fs.globSync, which Node has from version 22 on, for a command we do not run.
import { register } from 'node:module';

const shim =
  'data:text/javascript,' +
  encodeURIComponent("export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = undefined;");
register(
  'data:text/javascript,' +
    encodeURIComponent(`export async function resolve(specifier, context, next) {
      return specifier === 'fs' && /\\/conformance\\/dist\\//.test(context.parentURL)
        ? { url: ${JSON.stringify(shim)}, shortCircuit: true } : next(specifier, context);
    }`),
);
