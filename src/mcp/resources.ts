/**
 * What a client may attach without a call: today's context and single thoughts or sources. Reading one never counts as
 * an access.
 */
import { type McpServer, ProtocolError, ProtocolErrorCode, ResourceTemplate } from "@modelcontextprotocol/server";
import { DormouseError } from "../core/errors.ts";
import { describeFailure, EVIDENCE_NOTE, type Host } from "./tool.ts";

const CONTEXT_URI = "dormouse://context";
const NODE_URI = "dormouse://node/{id}";

export function registerResources(server: McpServer, host: Host): void {
  server.registerResource(
    "context",
    CONTEXT_URI,
    { title: "Context from memory", description: "What is due and what is recent.", mimeType: "text/plain" },
    (uri) =>
      answer(uri, host, async () => {
        const { text } = await host.brain.context();
        return { mimeType: "text/plain", text };
      }),
  );
  server.registerResource(
    "node",
    new ResourceTemplate(NODE_URI, { list: undefined }),
    {
      title: "A thought or source",
      description: "Everything about one thought (n_…) or source (s_…), as JSON.",
      mimeType: "application/json",
    },
    (uri, { id }) =>
      answer(uri, host, async () => ({
        mimeType: "application/json",
        text: JSON.stringify({ ...host.brain.show(String(id)), evidence: EVIDENCE_NOTE }),
      })),
  );
}

async function answer(uri: URL, host: Host, read: () => Promise<{ mimeType: string; text: string }>) {
  try {
    return { contents: [{ uri: uri.href, ...(await read()) }] };
  } catch (error) {
    const isRefusal = error instanceof DormouseError;
    const code = isRefusal ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, describeFailure("resources/read", host, error));
  }
}
