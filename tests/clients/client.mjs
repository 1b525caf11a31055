// Official TypeScript MCP client, driven by a JSON plan on stdin; one JSON document on stdout.
//   node client.mjs [--era legacy|auto|modern] [--cwd DIR] -- COMMAND [ARG...]   < plan.json
//   node client.mjs [--era legacy|auto|modern] --http URL                        < plan.json
// plan: [{"method":"tool","name":..,"arguments":..}, {"method":"resource","uri":..},
//        {"method":"prompt","name":..,"arguments":..}, {"method":"complete","ref":..,"argument":..}]
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const MODES = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } };

function parse(argv) {
  const out = { era: 'legacy', http: null, cwd: undefined, command: [] };
  for (let i = 0; i < argv.length; i++) {
    if (argv[i] === '--era') out.era = argv[++i];
    else if (argv[i] === '--http') out.http = argv[++i];
    else if (argv[i] === '--cwd') out.cwd = argv[++i];
    else {
      out.command = argv.slice(argv[i] === '--' ? i + 1 : i);
      break;
    }
  }
  if (!(out.era in MODES)) throw new Error(`unknown era: ${out.era}`);
  if (!out.http && out.command.length === 0) throw new Error('give a COMMAND or --http URL');
  return out;
}

async function stdinText() {
  if (process.stdin.isTTY) return '';
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

async function attempt(run) {
  try {
    return { result: await run() };
  } catch (error) {
    const { name, code, message, data } = error;
    return { error: { name, code, message, data } };
  }
}

function perform(client, step) {
  switch (step.method) {
    case 'tool':
      return client.callTool({ name: step.name, arguments: step.arguments ?? {} });
    case 'resource':
      return client.readResource({ uri: step.uri });
    case 'prompt':
      return client.getPrompt({ name: step.name, arguments: step.arguments ?? {} });
    case 'complete':
      return client.complete({ ref: step.ref, argument: step.argument, context: step.context });
    default:
      throw new Error(`unknown plan method: ${step.method}`);
  }
}

async function main() {
  const options = parse(process.argv.slice(2));
  const plan = JSON.parse((await stdinText()).trim() || '[]');
  const client = new Client(
    { name: 'client-check', version: '0.0.0' },
    { versionNegotiation: { mode: MODES[options.era] } },
  );
  const errors = [];
  client.onerror = (error) => errors.push(String(error));
  const transport = options.http
    ? new StreamableHTTPClientTransport(new URL(options.http))
    : new StdioClientTransport({
        command: options.command[0],
        args: options.command.slice(1),
        cwd: options.cwd,
        env: process.env,
        stderr: 'inherit',
      });
  await client.connect(transport);
  const document = {
    era: client.getProtocolEra(),
    protocolVersion: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools,
    resources: (await client.listResources()).resources,
    resourceTemplates: (await client.listResourceTemplates()).resourceTemplates,
    prompts: (await client.listPrompts()).prompts,
    results: [],
  };
  for (const step of plan) {
    document.results.push({ step, ...(await attempt(async () => perform(client, step))) });
  }
  if (options.http && document.era === 'legacy') await transport.terminateSession();
  await client.close();
  document.errors = errors;
  process.stdout.write(JSON.stringify(document, null, 2) + '\n');
}

main().catch((error) => {
  process.stderr.write(`${error?.stack ?? error}\n`);
  process.exitCode = 1;
});
