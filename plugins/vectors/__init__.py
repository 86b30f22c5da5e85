"""Students of embeddings and retrievals that learn a teacher's vectors of texts, as a part of a job."""
