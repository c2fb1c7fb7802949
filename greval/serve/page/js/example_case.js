/** A case to try the playground with: a question about a ferry company's services, one source too many. */

/** What the example is judged by where nothing is chosen yet. */
export const EXAMPLE_METRICS = ["correctness", "chunk_evaluation"];

export const EXAMPLE = {
  question: "How long does a crew session in identity last?",
  expected_answer: "12 hours",
  answer: "A crew session lasts 12 hours; passengers only get 30 minutes.",
  chunks: [
    {
      id: "c1",
      text: "identity logs in passengers and crew. A crew session lasts 12 hours, so that nobody has to hunt for a "
        + "password in the middle of a shift; a passenger session lasts 30 minutes.",
      doc_id: "core/identity", repo: "core", version: "v4.1", score: 0.83,
    },
    {
      id: "c2",
      text: "crew-roster knows who is on duty on which ship. It calls identity at the start of each shift.",
      doc_id: "harbour/crew-roster", repo: "harbour", version: "v2.8", score: 0.47,
    },
    {
      id: "c3",
      text: "Tickets can be changed up to an hour before departure.",
      doc_id: "booking/tickets", repo: "booking", version: "v1.0", score: 0.31,
    },
  ],
  triples: [
    { id: "t1", subject: "crew session", predicate: "lasts", object: "12 hours" },
    { id: "t2", subject: "crew-roster", predicate: "calls", object: "identity" },
  ],
  traversal: {
    start_nodes: ["crew-roster"],
    traversed_edges: [["crew-roster", "calls", "identity"], ["identity", "issues", "crew session"]],
    final_nodes: ["crew session"],
  },
  gold: {
    essential_docs: ["core/identity"], helpful_docs: [], essential_repos: ["core"],
    start_nodes: ["identity"], expected_edges: [["identity", "issues", "crew session"]], expected_nodes: ["crew session"],
  },
  usage: { latency: 3.2, llm_calls: 4, prompt_tokens: 2954, output_tokens: 58 },
};
