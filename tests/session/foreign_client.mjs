// The MCP client of the TypeScript SDK, at the command line:
// node foreign_client.mjs SDK CALLS COMMAND ARGUMENT...
// CALLS is a JSON list of [tool, arguments]; the answers go to standard output, as JSON.
import { pathToFileURL } from "node:url";

const [sdk, calls, command, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/client/${path}`));
const { Client } = await load("index.js");
const { StdioClientTransport } = await load("stdio.js");

const client = new Client({ name: "foreign", version: "1" });
await client.connect(new StdioClientTransport({ command, args, stderr: "inherit", env: process.env }));
const { tools } = await client.listTools();
const answers = [];
for (const [name, given] of JSON.parse(calls)) {
  answers.push(await client.callTool({ name, arguments: given }));
}
const { name } = client.getServerVersion();
console.log(JSON.stringify({ server: name, tools, answers }));
await client.close();
