// Keeps the model library non-empty while its headers need no code.
namespace evenhand {}
