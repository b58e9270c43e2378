// Keeps the core library non-empty while its headers need no code.
namespace evenhand {}
